import pg from 'pg';
import { type DatabaseTls, databaseTls } from '../config/databaseTls.ts';
import { outageAsRefusal } from './errorClasses.ts';
import { ROUND_TRIP_MS } from './pipeline.ts';

/** What the URLs said about TLS when their files could be read last. */
const lastTls = new Map<string, DatabaseTls>();

/** Reads the files again for each connection: they may have been renewed. While they are broken, the old ones serve. */
function tlsOf(url: string): DatabaseTls {
  try {
    const tls = databaseTls(new URL(url));
    lastTls.set(url, tls);
    return tls;
  } catch (error) {
    const tls = lastTls.get(url);
    if (tls) return tls;
    throw error;
  }
}

/** The driver has meanings of its own for these parameters (docs/decisions/0024-tls.md). So it does not see them. */
function withoutTls(url: string): string {
  const parsed = new URL(url);
  const ours = [...parsed.searchParams.keys()].filter((name) => /^(ssl|uselibpqcompat)/.test(name));
  for (const name of ours) parsed.searchParams.delete(name);
  return ours.length > 0 ? parsed.href : url;
}

/** Where the database is, and how TLS is spoken with it. */
export const addressOptions = (url: string): pg.ClientConfig => ({
  connectionString: withoutTls(url),
  ...tlsOf(url),
});

/** How a connection is made. A call that the database does not answer fails within 4.5 s in all. */
export const connectionOptions = (url: string): pg.ClientConfig => ({
  ...addressOptions(url),
  application_name: 'dibs',
  connectionTimeoutMillis: 1500,
  query_timeout: ROUND_TRIP_MS,
  keepAlive: true,
  keepAliveInitialDelayMillis: 10_000,
});

/** Connects, and closes the connection. @throws Refusal `unavailable` */
export async function tryConnection(url: string): Promise<void> {
  const client = new pg.Client(connectionOptions(url));
  client.on('error', () => undefined);
  try {
    await client.connect();
  } catch (error) {
    throw outageAsRefusal(error);
  } finally {
    await client.end().catch(() => undefined);
  }
}
