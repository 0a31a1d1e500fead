import { setTimeout as sleep } from 'node:timers/promises';
import type { Totals } from '../metrics/totals.ts';
import type { Depths } from './depths.ts';

/** While a long count runs, the totals are added this often. */
const TOTALS_MS = 1000;

/**
 * The duty that counts. It adds what has happened to the totals, counts how many jobs there are, and writes the samples
 * of a minute. It sends nothing while nobody looks and no job moves. Counting a very large queue takes long: the totals
 * go on meanwhile.
 */
export function countingDuty(context: {
  totals: Pick<Totals, 'run'>;
  depths: Pick<Depths, 'run'>;
  sampler: { run(): Promise<void> };
}): () => Promise<boolean> {
  const { totals, depths, sampler } = context;

  async function countJobs(): Promise<void> {
    await depths.run();
    await sampler.run();
  }

  return async () => {
    await totals.run();
    const counted = countJobs().then(() => true);
    // A failed count is reported at the end of the loop below. This keeps Node from calling it unhandled until then.
    counted.catch(() => undefined);
    while (!(await Promise.race([counted, sleep(TOTALS_MS, false, { ref: false })]))) await totals.run();
    return false;
  };
}
