import pg from 'pg';
import { addressOptions } from './address.ts';
import { planned } from './statements.ts';
import type { Server } from './timelines.ts';

const statements = { server: planned('postgres/server') };

/** A host that has not said by then what it is, is away. With the connection itself, it is less than a call waits. */
const PROBE_MS = 1000;

/** What the server of a connection is. */
export async function serverOf(client: pg.Client): Promise<Server> {
  const { rows } = await client.query(statements.server.text);
  return { system: rows[0].system, timeline: rows[0].timeline, isReadOnly: rows[0].is_read_only };
}

/** Asks a server what it is, by a connection of its own. */
export async function probe(hostUrl: string): Promise<Server> {
  const client = new pg.Client({
    ...addressOptions(hostUrl),
    application_name: 'dibs looks for the primary',
  });
  client.on('error', () => undefined);
  const { stream } = (client as unknown as { connection: pg.Connection }).connection;
  const late = setTimeout(() => stream.destroy(new Error('timeout expired')), PROBE_MS);
  try {
    await client.connect();
    return await serverOf(client);
  } finally {
    clearTimeout(late);
    client.end().catch(() => undefined);
  }
}

/** How messages name a host. */
export const nameOf = (hostUrl: string): string => new URL(hostUrl).host;
