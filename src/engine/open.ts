import { setImmediate as nextLoop } from 'node:timers/promises';
import type { QueuesOfJobs } from '../access/allowed.ts';
import type { ExistingQueues } from '../access/newQueues.ts';
import { type Duties, type Relocations, startDuties } from '../maintenance/duties.ts';
import type { BatchTraces } from '../tracing/batchLinks.ts';
import type { Readiness, Verbs } from '../verbs.ts';
import { aroundRooms } from './around.ts';
import { type Base, type BaseOptions, createBase } from './base.ts';
import { createRooms, type RoomOptions, type Rooms } from './rooms.ts';
import { verbsOf } from './verbs.ts';

export type { SessionsElsewhere } from './rooms.ts';

export type OpenOptions = BaseOptions &
  Pick<RoomOptions, 'logAct' | 'claimsOf' | 'sessionsElsewhere'> & {
    /** Hears that a queue goes to another database, or has gone. Without a name, any queue may. */
    placed?: ((queue?: string) => void) | undefined;
    /** Works on relocations, where there are several databases. */
    relocations?: Relocations | undefined;
  };

/** The rooms on one database, and the duties that run beside them. */
export interface DatabaseEngine {
  /** `home`, or the name of DATABASE_URL_<NAME> in small letters. */
  name: string;
  base: Base;
  rooms: Rooms;
  verbs: Omit<Verbs, 'settleAndClaim'>;
  /** Listens, and starts the duties. */
  begin(): Promise<void>;
  /** Answers every request that waits with what there is, and lets none wait any more. Other verbs go on. */
  stopWaiting(): void;
  /** Gives back what the rooms hold. Call it when no verb is running any more. */
  stop(): Promise<void>;
}

/** What a replica does with the engines of its databases. */
export interface Engines {
  home: DatabaseEngine;
  verbs: Omit<Verbs, 'settleAndClaim'>;
  /** What the guard asks of queues. */
  queues: QueuesOfJobs & ExistingQueues;
  batchTraces: BatchTraces;
  readiness(): Promise<Readiness>;
  waitingForJobs(): number;
  stopWaiting(): void;
  stop(): Promise<void>;
}

/** Notifications may have been lost, or what a replica was about to do: all that waits looks once. */
function lookAnywhere({ claims, waits, batchWaits, repair, relay }: Rooms): void {
  claims.wakeAll();
  waits.look();
  batchWaits.look();
  repair.lookAgain();
  relay?.lookAgain();
}

/** What the rooms hear from the other replicas. */
function listen(
  { notifier, waiters, rest, log }: Base,
  rooms: Rooms,
  placed: (queue?: string) => void = () => undefined,
): Promise<void> {
  const { claims, repair, keys, batchWaits, sessionDuty } = rooms;
  return notifier.start({
    here: claims.wake,
    coming: claims.expect,
    elsewhere: claims.wake,
    unnoticed: claims.lookAt,
    blocked: repair.blocked,
    replaced: claims.replaced,
    finished(ids) {
      waiters.wake(ids);
      batchWaits.ended(ids);
    },
    placed,
    sessions: sessionDuty.heard,
    anywhere() {
      placed();
      lookAnywhere(rooms);
      sessionDuty.heard();
      rest.heardActive();
    },
    active: rest.heardActive,
    looked: rest.heardLook,
    keysChanged: () => void keys.refresh().catch((error) => log(error, 'the access keys were not read')),
  });
}

async function close(base: Base, rooms: Rooms, duties: Duties | undefined): Promise<void> {
  const { claims, keys, audit, loopLag, sessions } = rooms;
  const { tally, totals, notifier, log } = base;
  // Connections of consumers that hung up may be closing still. Node tells of that at the end of a loop.
  for (let loops = 0; loops < 2; loops++) await nextLoop();
  await claims.idle();
  await sessions.idle().catch((error) => log(error, 'the ends of connections of sessions were not told'));
  await duties?.stop();
  await keys.noteUse().catch((error) => log(error, 'the last use of access keys was not noted'));
  await audit.idle();
  // What could not be given back at once would stay leased until it runs out.
  await claims.giveBackLost().catch((error) => log(error, 'jobs of lost claims were not given back'));
  if (tally.hasCounts()) await totals.flush().catch((error) => log(error, 'the last second was not counted'));
  loopLag.stop();
  await notifier.stop();
}

/** Puts the rooms on a database together. Nothing runs until `begin`. */
export function openDatabaseEngine(name: string, options: OpenOptions): DatabaseEngine {
  const base = createBase(options);
  const { clock, log } = base;
  let duties: Duties | undefined;
  const rooms: Rooms = createRooms(base, {
    logAct: options.logAct,
    claimsOf: options.claimsOf,
    sessionsElsewhere: options.sessionsElsewhere,
    operationStarted: () => duties?.workOnOperations(),
    sessionsChanged() {
      rooms.sessionDuty.heard();
      duties?.lookAtSessions();
    },
  });

  return {
    name,
    base,
    rooms,
    verbs: aroundRooms(verbsOf(rooms), base),

    async begin() {
      // A database that has just gone again is no reason to give up: a duty adjusts the clock later.
      await clock.adjust().catch((error) => log(error, 'the clock is not adjusted yet'));
      await listen(base, rooms, options.placed);
      duties = startDuties({
        ...base,
        ...rooms,
        enqueueWithin: rooms.enqueue.enqueueWithin,
        operations: rooms.operationWork,
        relocations: options.relocations,
        lookAnywhere: () => lookAnywhere(rooms),
      });
      // The duties have their connections by then. While the routes are compiled, which takes long on a slow machine,
      // nothing else is heard: a connection would time out, and the database would seem to be away.
      await duties.begun;
    },

    stopWaiting() {
      rooms.claims.close();
      rooms.waits.close();
      rooms.batchWaits.close();
      rooms.sessions.close();
    },

    stop: () => close(base, rooms, duties),
  };
}
