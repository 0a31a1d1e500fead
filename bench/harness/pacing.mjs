import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';

/*
 * Each pacing is a generator of numbers: so many jobs go into the next batch.
 */

/** The harness writes a line `ENQUEUE <n>` to the standard input for each batch. */
export async function* byTokens(input) {
  for await (const line of createInterface({ input })) {
    const [, jobs] = /^ENQUEUE (\d+)$/.exec(line) ?? [];
    if (jobs) yield Number(jobs);
  }
}

/** So many jobs a second, by the time that has really passed. */
export async function* atRate(rate, { batchMax, batchMs }) {
  let credit = 0;
  let last = performance.now();
  for (;;) {
    await sleep(batchMs);
    const now = performance.now();
    credit += (rate * (now - last)) / 1000;
    last = now;
    while (credit >= 1) {
      const jobs = Math.min(batchMax, Math.floor(credit));
      credit -= jobs;
      yield jobs;
    }
  }
}

/** So many that `depth` jobs wait. `waiting` tells how many wait now, `changed` emits `started` when a worker takes one. */
export async function* toDepth(depth, { batchMax, waiting, changed }) {
  for (;;) {
    const missing = depth - waiting();
    if (missing >= Math.min(batchMax, depth)) yield Math.min(batchMax, missing);
    else await once(changed, 'started');
  }
}
