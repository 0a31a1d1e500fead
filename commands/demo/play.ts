import { pause } from '../../clients/typescript/src/backoff.ts';
import type { Client } from '../../clients/typescript/src/client.ts';
import { isTemporary } from '../../clients/typescript/src/errors.ts';
import type { WorkerEvent } from '../../clients/typescript/src/events.ts';
import {
  claimJobs,
  configureQueue,
  enqueueJob,
  enqueueJobs,
  pauseQueue,
  startOperation,
} from '../../clients/typescript/src/generated.ts';
import { Worker } from '../../clients/typescript/src/worker.ts';
import { between } from './chance.ts';
import { type DemoQueue, QUEUES, UNSUBSCRIBED } from './queues.ts';

/** What has happened so far. */
export interface Tally {
  enqueued: number;
  done: number;
  failed: number;
}

const PAUSED = 'demo.newsletter';
const REPORTS = 'demo.reports';
/** A worker dies so often. Its lease is short, so that people need not wait to see what becomes of the job. */
const DEATH_MS = 40_000;
const DEAD_LEASE_SECONDS = 5;
const STOP_SECONDS = 3;

/** What may pass is not worth a word: a full queue, a Dibs that starts again. @throws what stays */
async function bearing(work: () => Promise<unknown>): Promise<boolean> {
  try {
    await work();
    return true;
  } catch (error) {
    if (!isTemporary(error)) throw error;
    return false;
  }
}

/** Makes the queues, with the jobs that are there from the start. */
export async function prepare(client: Client): Promise<number> {
  let enqueued = 0;
  for (const { name, config, batch } of QUEUES) {
    await configureQueue(client, name, config);
    if (name === PAUSED) await pauseQueue(client, name);
    if (batch === undefined) continue;
    await enqueueJobs(client, { jobs: batch.map((job) => ({ queue: name, ...job })) });
    enqueued += batch.length;
  }
  const filter = { states: ['ready' as const, 'blocked' as const], group: UNSUBSCRIBED };
  await startOperation(client, { verb: 'cancel', queue: PAUSED, filter });
  return enqueued;
}

async function produce(client: Client, queue: DemoQueue, tally: Tally, signal: AbortSignal): Promise<void> {
  const { name, jobs } = queue;
  if (jobs === undefined) return;
  while (!signal.aborted) {
    await pause((between(0.5, 1.5) * 1000) / jobs.perSecond, signal);
    if (signal.aborted) return;
    if (await bearing(() => enqueueJob(client, { queue: name, ...jobs.next() }))) tally.enqueued++;
  }
}

/** A worker that takes a job and is never heard of again. */
async function die(client: Client, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await pause(DEATH_MS, signal);
    if (signal.aborted) return;
    const claim = {
      queues: [REPORTS],
      lease_seconds: DEAD_LEASE_SECONDS,
      wait_seconds: 30,
      worker: 'reporter-2',
    };
    await bearing(() => claimJobs(client, claim, { signal })).catch((error) => {
      if (!signal.aborted) throw error;
    });
  }
}

function workersOf(client: Client, { name, workers }: DemoQueue, tally: Tally): Worker<never>[] {
  const observe = (event: WorkerEvent) => {
    if (event.type === 'settled') tally[event.verb === 'ack' ? 'done' : 'failed']++;
  };
  return (workers?.names ?? []).map(
    (worker) =>
      new Worker<never>(
        client,
        {
          queues: [name],
          name: worker,
          concurrency: workers?.concurrency,
          waitSeconds: 5,
          stopSeconds: STOP_SECONDS,
          // Its failures are part of the play.
          logger: null,
          observe,
        },
        workers?.handler ?? (() => undefined),
      ),
  );
}

/** Producers and workers at work until the signal fires. @throws what does not pass by itself: the first of it ends all */
export async function play(client: Client, tally: Tally, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  const ended = new AbortController();
  const either = AbortSignal.any([signal, ended.signal]);
  const workers = QUEUES.flatMap((queue) => workersOf(client, queue, tally));
  either.addEventListener('abort', () => {
    for (const worker of workers) void worker.stop();
  });
  const all = [
    ...QUEUES.map((queue) => produce(client, queue, tally, either)),
    ...workers.map((worker) => worker.run()),
    die(client, either),
  ];
  const ends = await Promise.allSettled(
    all.map((one) =>
      one.catch((error) => {
        ended.abort();
        throw error;
      }),
    ),
  );
  const failed = ends.find((end) => end.status === 'rejected');
  if (failed && !signal.aborted) throw failed.reason;
}
