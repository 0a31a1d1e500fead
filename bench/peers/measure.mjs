import { setTimeout as sleep } from 'node:timers/promises';
import { times } from '../lib/jobs.mjs';

/** A random pause between two jobs, so that the system is idle and no timer runs in step with the jobs. */
const PAUSE_MS = [40, 80];
/** Each load runs for this time before its jobs count: connections open, code is compiled. */
const WARM_MS = 500;
/** The first wake-ups of a process run new code, so they do not count. */
const WARM_WAKES = 10;
const WAKE_WITHIN_MS = 10_000;
const DRAIN_WITHIN_MS = 60_000;

/** Jobs/s enqueued by `width` producers. Each waits for the answer to its call before the next call. */
export async function enqueueRate(add, { width, seconds, size = 1 }) {
  const from = performance.now() + WARM_MS;
  const until = from + seconds * 1000;
  let count = 0;
  let end = from;
  await Promise.all(
    Array.from({ length: width }, async () => {
      while (performance.now() < until) {
        await add(size);
        const now = performance.now();
        if (now < from) continue;
        count += size;
        end = Math.max(end, now);
      }
    }),
  );
  return (count / (end - from)) * 1000;
}

/**
 * Jobs/s done by the workers that `start` starts. `start` gets a function to call with a number of done jobs,
 * and returns a function that stops the workers. Ends after `seconds`, or when `total` jobs are done.
 */
export async function drainRate(start, { seconds, total }) {
  const { promise: enough, resolve } = Promise.withResolvers();
  let all = 0;
  let counted = 0;
  let from;
  let last;
  const stop = await start((count) => {
    const now = performance.now();
    all += count;
    // The clock starts with the first done job, so that a slow start of workers costs no peer anything.
    if (from === undefined) from = now + WARM_MS;
    if (now >= from && last === undefined) last = from = now;
    else if (now >= from) {
      counted += count;
      last = now;
    }
    if (all >= total || now > from + seconds * 1000) resolve();
  });
  const late = setTimeout(resolve, DRAIN_WITHIN_MS);
  await enough;
  clearTimeout(late);
  const rate = (counted / (last - from)) * 1000;
  await stop();
  return { rate, drained: all };
}

/**
 * Times in ms from the call that adds a job to its start in a waiting worker, one after the other. `waker`
 * gets a function to call when a job starts.
 */
export async function wakeUps(waker, count) {
  let started;
  const { add, stop } = await waker(() => started?.(performance.now()));
  const found = [];
  for (let i = -WARM_WAKES; i < count; i++) {
    await sleep(PAUSE_MS[0] + Math.random() * (PAUSE_MS[1] - PAUSE_MS[0]));
    const { promise, resolve, reject } = Promise.withResolvers();
    started = resolve;
    const late = setTimeout(() => reject(new Error('a job was not started')), WAKE_WITHIN_MS);
    const sent = performance.now();
    const added = add();
    const ms = (await promise) - sent;
    if (i >= 0) found.push(ms);
    clearTimeout(late);
    await added;
  }
  await stop();
  return found;
}

/** Enqueues `count` jobs in batches of 1,000. */
export const fillWith = (addMany, count) => times(Math.ceil(count / 1000), 4, () => addMany(1000));

/** Runs `width` loops of `step` until stopped. A loop pauses when its step found nothing (0). */
export function loops(width, step) {
  let stopped = false;
  const all = Promise.all(
    Array.from({ length: width }, async () => {
      while (!stopped) if ((await step()) === 0) await sleep(20);
    }),
  );
  return () => {
    stopped = true;
    return all;
  };
}
