import type pg from 'pg';
import { DatabaseClient } from './connection.ts';
import { type Call, callOf } from './pipeline.ts';
import { prepared, queryOf } from './statements.ts';

/*
 * What Dibs relies on, whatever defaults the server, the database and the role have (sql/postgres/session.sql). A
 * connection to the server itself is set once, before its first use. Through a pooler, each transaction may have
 * another connection, which others use as well: there each transaction sets it for itself, in its own round trip.
 */

const statements = {
  session: prepared('postgres/session'),
  readCommitted: prepared('postgres/read_committed'),
};

/**
 * Begins a transaction, whatever its defaults are. The server ends it when Dibs does nothing in it for so long: a
 * replica that is gone keeps its locks no longer.
 */
export const BEGIN =
  "begin isolation level read committed; set local idle_in_transaction_session_timeout = '10s'";

/** What the server said at the start of a connection. A pooler makes it up. */
export const processIdOf = (client: pg.ClientBase) => (client as unknown as { processID: number }).processID;

/** The connections that go through a pooler. */
const pooled = new WeakSet<pg.ClientBase>();

/** Sets a connection to the server. Through a pooler, it sets the transaction that is open. */
export async function setSession(client: pg.ClientBase): Promise<void> {
  const { rows } = await client.query(queryOf(statements.session, { process_id: processIdOf(client) }));
  if (rows[0].is_pooled) pooled.add(client);
}

/** What goes before the statements of a round trip. Nothing, where the connection is set. */
export const sessionCalls = (client: pg.ClientBase): Call[] =>
  pooled.has(client)
    ? [callOf(statements.readCommitted, {}), callOf(statements.session, { process_id: processIdOf(client) })]
    : [];

/** A connection that is set before anybody has it. */
export class SetClient extends DatabaseClient {
  protected prepare(): Promise<void> {
    return setSession(this);
  }

  protected override async open(): Promise<pg.Client> {
    await super.open();
    try {
      await this.prepare();
      return this;
    } catch (error) {
      this.end().catch(() => undefined);
      throw error;
    }
  }
}
