import type pg from 'pg';
import { rowsOf, withOwnClient } from '../postgres/client.ts';
import { planned } from '../postgres/statements.ts';
import type { Thresholds } from './finding.ts';

const statements = { limit: planned('postgres/time_limit') };

/** What every check is given. */
export interface Patient {
  client: pg.Client;
  url: string;
  /** Of the replicas. */
  poolSize: number;
  listenUrl: string | undefined;
  isEmbedded: boolean;
  thresholds: Thresholds;
}

/** A connection without settings of its session, so that it works behind a pooler. */
export const connected = <T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> =>
  withOwnClient(url, { application_name: 'dibs doctor', query_timeout: 20_000 }, work);

/** Looks in a transaction that changes nothing, and does not run for long. */
export async function looking<T>(client: pg.Client, look: () => Promise<T>): Promise<T> {
  await client.query('begin read only');
  try {
    await rowsOf(client, statements.limit, { statement_timeout: '15s', lock_timeout: null });
    return await look();
  } finally {
    await client.query('rollback');
  }
}
