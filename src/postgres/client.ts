import type pg from 'pg';
import { addressOptions } from './address.ts';
import { columnTypes } from './columnTypes.ts';
import { DatabaseClient } from './connection.ts';
import { queryOf, type Statement } from './statements.ts';

/** A connection that is not made yet. */
export const ownClient = (url: string, options: pg.ClientConfig): pg.Client =>
  new DatabaseClient(url, {
    ...addressOptions(url),
    types: columnTypes,
    connectionTimeoutMillis: 5000,
    keepAlive: true,
    ...options,
  });

/**
 * Lends a connection of its own for work that a pool would hide, or would end: commands look closely, or work for long.
 */
export async function withOwnClient<T>(
  url: string,
  options: pg.ClientConfig,
  work: (client: pg.Client) => Promise<T>,
): Promise<T> {
  const client = ownClient(url, options);
  try {
    await client.connect();
    return await work(client);
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** The rows of a statement. It is planned for this call. */
export async function rowsOf<Parameters extends object, Row>(
  client: pg.Client,
  statement: Statement<Parameters, Row>,
  parameters?: Parameters,
): Promise<Row[]> {
  const { rows } = await client.query(queryOf(statement, (parameters ?? {}) as Parameters));
  return rows as Row[];
}
