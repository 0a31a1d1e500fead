import type pg from 'pg';
import { openClient } from './database.ts';

/** Opens a transaction, which stays open until `end` is called. */
export async function openTransaction(url: string, begin = 'begin') {
  const client = await openClient(url);
  await client.query(begin);
  return {
    query: async <Row extends pg.QueryResultRow>(text: string, values: unknown[] = []): Promise<Row[]> =>
      (await client.query<Row>(text, values)).rows,
    async end(how: 'commit' | 'rollback'): Promise<void> {
      await client.query(how);
      await client.end();
    },
  };
}
