// Checksums of a folder by three workers in three languages. One of them is killed at work:
//   npm run example:checksums -- [--kill=bash|python|node] [--keep] [folder]
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { call, example, openService } from '../support/service.mjs';
import { account } from './account.mjs';
import { KINDS, killAtWork, startWorker, untilBegun } from './crew.mjs';
import { produce } from './producer.mjs';

/** A killed worker's jobs wait for this time until another worker gets them. */
const LEASE_SECONDS = process.env.LEASE_SECONDS ?? '10';

const has = (count, noun) => `${count} ${noun}${count === 1 ? '' : 's'}`;

async function enqueue(url, queue, folder) {
  const { paths, skipped } = await produce(url, queue, folder);
  console.log(`${has(paths.length, 'file')} below ${folder}, a job for each`);
  for (const [what, count] of Object.entries(skipped)) console.log(`  left out: ${count} ${what}`);
  if (paths.length === 0) throw new Error(`There is no file below ${folder}`);
  return paths;
}

async function untilDone(url, queue, total) {
  for (;;) {
    const { counts } = await call(url, 'GET', `/queues/${queue}`);
    if (counts.completed + counts.dead === total) return;
    await sleep(100);
  }
}

async function endedByItself(worker) {
  const { code, signal } = await worker.ended;
  throw new Error(`the ${worker.name} worker ended by itself (${signal ?? code})`);
}

/** Runs the workers until all jobs are done, and kills one of them. Returns the ids of the jobs it held. */
async function work(url, queue, { total, kill, unlessStopped }) {
  const env = { DIBS_URL: url, QUEUE: queue, LEASE_SECONDS };
  const workers = [];
  try {
    // The victim starts first, so that the others cannot do all jobs before it is up.
    const victim = startWorker(kill, env);
    workers.push(victim);
    await unlessStopped(Promise.race([untilBegun(url, queue), endedByItself(victim)]));
    const others = KINDS.filter((kind) => kind !== kill).map((kind) => startWorker(kind, env));
    workers.push(...others);
    const trouble = others.map(endedByItself);
    const during = (step) => unlessStopped(Promise.race([step, ...trouble]));

    const held = await during(killAtWork(victim, url, queue, total));
    console.log(`kill -9 of the ${kill} worker, which held ${has(held.length, 'lease')}`);
    await during(untilDone(url, queue, total));

    for (const worker of others) worker.stop();
    for (const worker of others) {
      const { code, signal } = await worker.ended;
      if (code !== 0) throw new Error(`the ${worker.name} worker ended with ${signal ?? code} after SIGTERM`);
    }
    return new Set(held.map((job) => job.id));
  } finally {
    for (const worker of workers) worker.signal('SIGKILL');
  }
}

/** Prints the outcome. True when each file is there once, with the sum that sha256sum gives. */
function report(paths, held, { completed, dead, ...findings }) {
  const of = (jobs) =>
    KINDS.map((kind) => `${kind} ${jobs.filter((job) => job.worker === kind).length}`).join(', ');
  console.log(`done by: ${of(completed)}`);
  console.log(
    `of those, left behind by the killed worker: ${of(completed.filter((job) => held.has(job.id)))}`,
  );
  for (const job of dead) console.log(`  failed: ${JSON.stringify(job.payload.path)}: ${job.last_error}`);
  for (const [what, list] of Object.entries(findings))
    for (const path of list) console.log(`  ${what}: ${JSON.stringify(path)}`);

  const { changed, missing, twice, wrong } = findings;
  const good = paths.length - new Set([...changed, ...missing, ...twice, ...wrong]).size;
  console.log(`${good} of ${has(paths.length, 'file')}: one result each, the sum that sha256sum gives`);
  if (changed.length > 0)
    console.log(`${has(changed.length, 'file')} changed meanwhile and cannot be compared`);
  return good + changed.length === paths.length && completed.length === paths.length;
}

async function main(args, unlessStopped) {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: { kill: { type: 'string', default: 'python' }, keep: { type: 'boolean', default: false } },
  });
  if (!KINDS.includes(values.kill)) throw new Error(`--kill takes ${KINDS.join(', ')}`);

  const service = await openService();
  const { url } = service;
  const queue = `checksums-${randomUUID()}`;
  try {
    // With a retention, the ack and its result are one transaction, so a result cannot be lost or doubled.
    await call(url, 'PUT', `/queues/${queue}`, { retention_seconds: 86_400 });
    const started = Date.now();
    const paths = await enqueue(url, queue, positionals[0] ?? 'node_modules');
    const held = await work(url, queue, { total: paths.length, kill: values.kill, unlessStopped });
    console.log(`all done after ${((Date.now() - started) / 1000).toFixed(1)} s`);
    return report(paths, held, await account(url, queue, paths, started));
  } finally {
    if (!values.keep) await call(url, 'DELETE', `/queues/${queue}?force=true`).catch(() => undefined);
    await service.close();
  }
}

await example(main);
