import { setImmediate as nextLoop } from 'node:timers/promises';
import { guard } from './access/guard.ts';
import { createNewQueueLimit } from './access/newQueues.ts';
import { type AroundOptions, surround } from './engine/around.ts';
import { type Base, type BaseOptions, createBase } from './engine/base.ts';
import { createRooms, type RoomOptions, type Rooms } from './engine/rooms.ts';
import { verbsOf } from './engine/verbs.ts';
import { createLooks, createSharedLooks } from './looks.ts';
import { type Duties, startDuties } from './maintenance/duties.ts';
import { whyNotReady } from './postgres/migrate.ts';
import { createSemaphore } from './postgres/semaphore.ts';

export type EngineOptions = BaseOptions &
  AroundOptions &
  Pick<RoomOptions, 'logAct'> & {
    /** New queues of a caller in a second. 0: any number. */
    newQueuesPerSecond?: number | undefined;
  };

/** Notifications may have been lost, or what a replica was about to do: all that waits looks once. */
function lookAnywhere({ claims, waits, repair }: Rooms): void {
  claims.wakeAll();
  waits.look();
  repair.lookAgain();
}

/** What the rooms hear from the other replicas. */
function listen({ notifier, waiters, rest, log }: Base, rooms: Rooms): Promise<void> {
  const { claims, repair, keys } = rooms;
  return notifier.start({
    here: claims.wake,
    coming: claims.expect,
    elsewhere: claims.wake,
    unnoticed: claims.lookAt,
    blocked: repair.blocked,
    replaced: claims.replaced,
    finished: waiters.wake,
    anywhere() {
      lookAnywhere(rooms);
      rest.heardActive();
    },
    active: rest.heardActive,
    looked: rest.heardLook,
    keysChanged: () => void keys.refresh().catch((error) => log(error, 'the access keys were not read')),
  });
}

/** Gives back what the rooms hold, once no verb is running any more. */
async function close(base: Base, rooms: Rooms, duties: Duties): Promise<void> {
  const { claims, keys, audit, loopLag } = rooms;
  const { tally, totals, notifier, log } = base;
  // Connections of consumers that hung up may be closing still. Node tells of that at the end of a loop.
  for (let loops = 0; loops < 2; loops++) await nextLoop();
  await claims.idle();
  await duties.stop();
  await keys.noteUse().catch((error) => log(error, 'the last use of access keys was not noted'));
  await audit.idle();
  // What could not be given back at once would stay leased until it runs out.
  await claims.giveBackLost().catch((error) => log(error, 'jobs of lost claims were not given back'));
  if (tally.hasCounts()) await totals.flush().catch((error) => log(error, 'the last second was not counted'));
  loopLag.stop();
  await notifier.stop();
}

/**
 * The queue, without a protocol: every verb of the contract, and the duties that run beside them. Any number of engines
 * may work on one database. Verbs throw a Refusal (errors.ts) for a request that is not carried out.
 */
export async function startEngine(options: EngineOptions) {
  const base = createBase(options);
  const { db, queues, clock, memory, ledger, log } = base;
  const rooms = createRooms(base, {
    logAct: options.logAct,
    operationStarted: () => duties.workOnOperations(),
  });
  const { claims, waits, keys, audit } = rooms;
  const verbs = surround(verbsOf(rooms), base, options);
  const shareReadiness = createSharedLooks();

  // A database that has just gone again is no reason to give up: a duty adjusts the clock later.
  await clock.adjust().catch((error) => log(error, 'the clock is not adjusted yet'));
  await listen(base, rooms);
  const duties = startDuties({
    ...base,
    ...rooms,
    enqueueWithin: rooms.enqueue.enqueueWithin,
    operations: rooms.operationWork,
    lookAnywhere: () => lookAnywhere(rooms),
  });
  // The duties have their connections by then. While the routes are compiled, which takes long on a slow machine,
  // nothing else is heard: a connection would time out, and the database would seem to be away.
  await duties.begun;

  /** Answers every request that waits with what there is, and lets none wait any more. Other verbs go on. */
  function stopWaiting(): void {
    claims.close();
    waits.close();
  }

  return {
    ...verbs,

    /** The verbs as a caller may use them. */
    ...guard(verbs, queues, audit, createNewQueueLimit(queues, options.newQueuesPerSecond ?? 0)),

    /** The access keys, as this replica knows them. */
    keys,

    /** Why enqueues would fail now, or a moment ago: anybody may ask. Undefined: they would not. */
    whyNotReady: () => shareReadiness('', () => whyNotReady(db)),

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
    waitingForJobs: waits.waiting,

    stopWaiting,

    /** Ends the duties and the notifications. Call it when no verb is running any more. */
    async stop(): Promise<void> {
      stopWaiting();
      await close(base, rooms, duties);
    },
  };
}

export type RunningEngine = Awaited<ReturnType<typeof startEngine>>;
