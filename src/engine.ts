import { guard } from './access/guard.ts';
import { createNewQueueLimit } from './access/newQueues.ts';
import { HOME } from './config/databases.ts';
import type { OtherDatabases } from './databases/opening.ts';
import { openSeveral } from './databases/several.ts';
import { type AroundOptions, surround } from './engine/around.ts';
import { type Engines, type OpenOptions, openDatabaseEngine } from './engine/open.ts';
import { createLooks, createSharedLooks } from './looks.ts';
import { whyNotReady } from './postgres/migrate.ts';
import { createSemaphore } from './postgres/semaphore.ts';

export type EngineOptions = OpenOptions &
  AroundOptions & {
    /** New queues of a caller in a second. 0: any number. */
    newQueuesPerSecond?: number | undefined;
    /** The databases beside `home`. */
    others?: OtherDatabases | undefined;
  };

/** The engine of the only database. */
async function openOne(options: EngineOptions): Promise<Engines> {
  const home = openDatabaseEngine(HOME, options);
  const { verbs, base, rooms, stopWaiting, stop } = home;
  await home.begin();
  return {
    ...{ home, verbs, queues: base.queues, stopWaiting, stop },
    batchTraces: rooms.batches.traces,
    readiness: async () => ({ reason: await whyNotReady(base.db), notReady: [] }),
    waitingForJobs: rooms.waits.waiting,
  };
}

/**
 * The queue, without a protocol: every verb of the contract, and the duties that run beside them. Any number of engines
 * may work on one database. Verbs throw a Refusal (errors.ts) for a request that is not carried out.
 */
export async function startEngine(options: EngineOptions) {
  const { others } = options;
  const engines = await (others ? openSeveral(options, others) : openOne(options));
  const { memory, ledger } = engines.home.base;
  const { keys, audit } = engines.home.rooms;
  const verbs = surround(engines.verbs, engines.home.base, {
    ...options,
    batchTraces: engines.batchTraces,
  });
  const shareReadiness = createSharedLooks();
  const newQueues = createNewQueueLimit(engines.queues, options.newQueuesPerSecond ?? 0);

  return {
    ...verbs,

    /** The verbs as a caller may use them. */
    ...guard(verbs, engines.queues, audit, newQueues),

    /** The access keys, as this replica knows them. */
    keys,

    /** Whether enqueues would work now, or a moment ago: anybody may ask. */
    readiness: () => shareReadiness('', engines.readiness),

    /**
     * Runs the writing of metrics, one at a time: thousands of queues take long. Equal answers that wait are written
     * once.
     */
    inMetricsSlot: createLooks(createSemaphore(1)),

    /** The memory budget of this replica. */
    memory,

    /** What requests hold of this replica now. */
    ledger,

    /** How many requests wait here for the end of a job. */
    waitingForJobs: engines.waitingForJobs,

    /** Answers every request that waits with what there is, and lets none wait any more. Other verbs go on. */
    stopWaiting: engines.stopWaiting,

    /** Ends the duties and the notifications. Call it when no verb is running any more. */
    async stop(): Promise<void> {
      engines.stopWaiting();
      await engines.stop();
    },
  };
}

export type RunningEngine = Awaited<ReturnType<typeof startEngine>>;
