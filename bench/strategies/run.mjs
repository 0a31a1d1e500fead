import { createHash } from 'node:crypto';
import { settle } from '../lib/postgres.mjs';

const payloadOf = (_, i) => `${i} ${'lorem ipsum '.repeat(8)}`;

/**
 * Runs one worker: it pops and does jobs until `count` different jobs are done. Returns the number of jobs
 * that it did. `pop` returns jobs, or an empty list when it found none. `done` gets the jobs when they are
 * done.
 */
async function work({ pop, done }, count, tally) {
  let worked = 0;
  while (tally.times.size < count) {
    const jobs = await pop();
    if (jobs.length === 0) {
      tally.empty++;
      continue;
    }
    for (const { payload } of jobs) {
      const md5 = createHash('md5').update(payload).digest('hex');
      tally.times.set(md5, (tally.times.get(md5) ?? 0) + 1);
    }
    worked += jobs.length;
    await done(jobs);
  }
  return worked;
}

/** Lets `width` workers do `count` jobs in one way. The time leaves out connecting and inserting. */
export async function run(way, width, count) {
  await way.fill(Array.from({ length: count }, payloadOf));
  await settle(way.url);
  const workers = await Promise.all(Array.from({ length: width }, way.worker));
  const tally = { times: new Map(), empty: 0 };

  const before = process.cpuUsage();
  const started = performance.now();
  const worked = await Promise.all(workers.map((worker) => work(worker, count, tally)));
  const seconds = (performance.now() - started) / 1000;
  const { user, system } = process.cpuUsage(before);

  await Promise.all(workers.map((worker) => worker.close()));
  const left = await way.left();
  if (left > 0) throw new Error(`${way.name}: ${left} jobs are left`);
  return {
    seconds,
    twice: [...tally.times.values()].filter((times) => times > 1).length,
    empty: tally.empty,
    least: Math.min(...worked),
    most: Math.max(...worked),
    cpu: (user + system) / count,
  };
}
