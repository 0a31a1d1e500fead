import pg from 'pg';
import { planned } from './statements.ts';

const statements = { waits: planned('postgres/waits_for_standby') };

/** A cancel request that is not delivered within this time is given up. */
const GIVE_UP_MS = 1500;

/**
 * Asks the server to end what it does for a connection (PostgreSQL manual, "Canceling Requests in Progress"). The
 * server has a time limit of its own for each statement. This is for when the client gives up first.
 */
export function cancel(victim: pg.ClientBase, options: pg.ClientConfig): void {
  const { processID, secretKey } = victim as unknown as { processID: number; secretKey: number };
  const { connection, host, port, ssl, sslNegotiation } = new pg.Client(options) as unknown as {
    connection: pg.Connection & {
      connect(port: number | string, host?: string): void;
      requestSsl(): void;
      cancel(processID: number, secretKey: number): void;
    };
    host: string;
    port: number;
    ssl: object | false;
    sslNegotiation: string;
  };
  connection.on('error', () => undefined);
  connection.on('connect', () => {
    if (!ssl) connection.cancel(processID, secretKey);
    else if (sslNegotiation !== 'direct') connection.requestSsl();
  });
  // The key goes to nobody but the server that the certificate is of.
  connection.on('sslconnect', () =>
    connection.stream.once('secureConnect', () => connection.cancel(processID, secretKey)),
  );
  if (host.startsWith('/')) connection.connect(`${host}/.s.PGSQL.${port}`);
  else connection.connect(port, host);
  setTimeout(() => connection.stream.destroy(), GIVE_UP_MS).unref();
}

/**
 * Cancels where no commit waits for a synchronous standby. A commit whose wait is cancelled is seen by everybody here, and
 * is not on the standby: a repeat would be answered by what a failover loses (docs/decisions/0088-standbys-are-waited-for.md).
 * Returns whether commits wait for one.
 */
export async function cancelSafely(victim: pg.ClientBase, options: pg.ClientConfig): Promise<boolean> {
  const asking = new pg.Client(options);
  asking.on('error', () => undefined);
  try {
    await asking.connect();
    const { rows } = await asking.query(statements.waits.text);
    if (!rows[0].waits_for_standby) cancel(victim, options);
    return rows[0].waits_for_standby;
  } catch {
    // A server that does not answer would not cancel either. Each statement has its own limit.
    return false;
  } finally {
    asking.end().catch(() => undefined);
  }
}
