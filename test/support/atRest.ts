import { setTimeout as sleep } from 'node:timers/promises';
import { transactionsOf } from './database.ts';

/**
 * Longer than a replica is awake after its start (11 s), and than PostgreSQL takes to count what a session did that is idle
 * since (10 s).
 */
export const QUIET_MS = 26_000;
const COUNTED_MS = 15_000;

/** How many transactions replicas at rest make in a second, without what was done before. */
export async function transactionsAtRest(url: string): Promise<number> {
  await sleep(QUIET_MS);
  const before = await transactionsOf(url);
  await sleep(COUNTED_MS);
  return ((await transactionsOf(url)) - before) / (COUNTED_MS / 1000);
}
