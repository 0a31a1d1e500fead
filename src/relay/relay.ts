import { setTimeout as sleep } from 'node:timers/promises';
import type { RelayOut } from '../enqueue/enqueueWithin.ts';
import { isOutage, QueueGone } from '../errors.ts';
import type { Clock } from '../postgres/clock.ts';
import { isLockTimeout } from '../postgres/errorClasses.ts';
import type { Database } from '../postgres/pool.ts';
import { createSemaphore, type Semaphore } from '../postgres/semaphore.ts';
import { planned, row } from '../postgres/statements.ts';
import type { Places } from '../queues/elsewhere.ts';
import { createRareLog } from '../rareLog.ts';
import { createAskers } from './askers.ts';
import { createBacklog } from './backlog.ts';
import { createForget } from './forget.ts';
import { createParcels, type Parcels } from './parcels.ts';
import type { Parcel, Receive } from './receive.ts';
import type { AttemptsOf } from './told.ts';
import { createWaitingJobs } from './waitingJobs.ts';
import { createWrite } from './write.ts';

/*
 * Jobs for queues in other databases. They are written down in the commit that decides about them (write.ts), sent at once
 * after it, and by a duty where that failed. See docs/decisions/0090-relay.md.
 */

/** One of the databases, this one too: a queue may have moved here since. */
export interface RelayTarget {
  /** Whether it takes writes, as far as is known. */
  serves(): boolean;
  receive: Receive;
}

/** What this database knows of the others. */
export interface Crossing extends Places {
  /** How long an answer waits for its jobs to arrive, in ms. */
  answerMs?: number | undefined;
  /** How many jobs wait at most. */
  mostWaiting?: number | undefined;
  at(database: string): RelayTarget | undefined;
  attemptsOf: AttemptsOf;
}

/** A replica sends to so many queues of one database at once. */
const AT_ONCE = 4;
/** One run of the duty waits for its parcels for so long. They go on, and the next run joins them. */
const RUN_MS = 500;
const QUEUES = 1000;
/** A new job for a queue lets those that wait for it go first, for so long. */
const FIRST_MS = 1000;

const statements = {
  queues: planned('relay/queues', row<{ queue_id: number }>()),
};

/** A queue may not be there yet, and a transaction in the way may be under way: both are tried again. */
const isExpected = (error: unknown) => isOutage(error) || isLockTimeout(error) || error instanceof QueueGone;

/** Runs work for each queue, one at a time. Whoever asks while it runs waits for another run, with all others. `work` never fails. */
function createLines(work: (queueId: number) => Promise<void>) {
  const lines = new Map<number, { now: Promise<void>; next?: Promise<void> }>();

  function begin(queueId: number): Promise<void> {
    const line: { now: Promise<void>; next?: Promise<void> } = {
      now: work(queueId).finally(() => {
        if (!line.next) lines.delete(queueId);
      }),
    };
    lines.set(queueId, line);
    return line.now;
  }

  return function run(queueId: number): Promise<void> {
    const line = lines.get(queueId);
    if (!line) return begin(queueId);
    line.next ??= line.now.then(() => begin(queueId));
    return line.next;
  };
}

/**
 * Makes the function that sends all that waits for a queue. False: its database is away. `tries`: it tries that one too, which may be
 * back.
 */
function createSendAll(
  crossing: Crossing,
  parcels: Parcels,
  askers: ReturnType<typeof createAskers>,
  tries: (queueId: number) => boolean,
) {
  const slots = new Map<string, Semaphore>();

  function slotOf(database: string): Semaphore {
    const slot = slots.get(database) ?? createSemaphore(AT_ONCE);
    slots.set(database, slot);
    return slot;
  }

  /** Ends the parcel `before`, and sends the next one. Undefined: nothing waits for the queue. */
  async function sendNext({ receive }: RelayTarget, queueId: number, before: Parcel | undefined) {
    const release = askers.of(queueId);
    const parcel = await parcels.next(queueId, before);
    // What they ask about has arrived, by another replica.
    if (!parcel) release();
    // No jobs: another replica has sent them already.
    else if (parcel.jobs.length > 0) askers.arrived(parcel, await receive(parcel));
    return parcel;
  }

  /** Queues take turns, a parcel each: what waits for one may be much. */
  async function sendTo(database: string, target: RelayTarget, queueId: number): Promise<void> {
    const slot = slotOf(database);
    let sent: Parcel | undefined;
    do {
      const before = sent;
      sent = await slot(() => sendNext(target, queueId, before));
    } while (sent);
  }

  return async function sendAll(queueId: number): Promise<boolean> {
    const database = await crossing.databaseOf(queueId);
    if (database === undefined) {
      await parcels.drop(queueId);
      return true;
    }
    const target = crossing.at(database);
    if (!target || !(target.serves() || tries(queueId))) return false;
    try {
      await sendTo(database, target, queueId);
    } catch (error) {
      if (!isOutage(error) && !isLockTimeout(error)) await crossing.databaseOf(queueId, true);
      throw error;
    }
    return true;
  };
}

/**
 * Which queues jobs wait for, as far as this replica knows: it could not send them, or the duty has seen them. A job that is
 * enqueued there now would overtake them.
 */
function createBehind(send: (queueId: number) => Promise<void>) {
  const queues = new Set<number>();
  const ahead = new Map<number, { done: Promise<void>; until: number }>();

  return {
    queues,

    isTried: (queueId: number): boolean => ahead.has(queueId),

    /** Has what waits for a queue sent first. Undefined: nothing waits, or it takes too long already. */
    sendFirst(queueId: number): Promise<void> | undefined {
      if (!queues.has(queueId)) return undefined;
      const begun = ahead.get(queueId);
      const sending = begun ?? { done: Promise.resolve(), until: performance.now() + FIRST_MS };
      if (!begun) {
        ahead.set(queueId, sending);
        sending.done = send(queueId).finally(() => ahead.delete(queueId));
      }
      const leftMs = sending.until - performance.now();
      return leftMs > 0 ? Promise.race([sending.done, sleep(leftMs, undefined, { ref: false })]) : undefined;
    },
  };
}

/** Looks for which queues jobs wait. They are `behind` then, and no others. */
async function queuesThatWait(db: Database, behind: Set<number>): Promise<number[]> {
  const before = [...behind];
  const found: number[] = [];
  for (let more = true; more; ) {
    const page = await db.query(statements.queues, { after: found.at(-1) ?? 0, limit: QUEUES });
    found.push(...page.map(({ queue_id }) => queue_id));
    more = page.length === QUEUES;
  }
  for (const queueId of before) behind.delete(queueId);
  for (const queueId of found) behind.add(queueId);
  return found;
}

/** The relay of one of several databases. */
export function createRelay(context: {
  db: Database;
  clock: Clock;
  crossing: Crossing;
  log: (error: unknown, message: string) => void;
}) {
  const { db, clock, crossing, log } = context;
  const askers = createAskers(crossing.answerMs);
  const parcels = createParcels({ db, self: crossing.self });
  const sendAll = createSendAll(crossing, parcels, askers, (queueId) => behind.isTried(queueId));
  const rareLog = createRareLog<Error>(
    ({ message }) => message,
    (error) => log(error, 'jobs for another database were not sent, they will be'),
  );
  const backlog = createBacklog(db, crossing.mostWaiting);
  /** A replica may have left something that the next run of the duty has to see. */
  let looksAgain = false;

  const send = createLines(async (queueId) => {
    try {
      if (await sendAll(queueId)) {
        behind.queues.delete(queueId);
        return;
      }
    } catch (error) {
      if (!isExpected(error)) rareLog(error as Error);
    }
    behind.queues.add(queueId);
    askers.of(queueId)();
  });
  const behind = createBehind(send);

  const relayOut: RelayOut = {
    write: createWrite(clock, crossing.attemptsOf, backlog.isFull),
    send: (jobs) => askers.wait(jobs, (queueId) => void send(queueId)),
    sendTo: (queueId) => void send(queueId),
  };

  return {
    ...relayOut,

    ...createWaitingJobs(db, crossing.attemptsOf),

    /** Sends all that waits for a queue. Settles when it has arrived, or could not be sent. */
    arrive: send,

    sendFirst: behind.sendFirst,

    /** The duty: sends what was left. */
    async run(): Promise<boolean> {
      looksAgain = false;
      const queueIds = await queuesThatWait(db, behind.queues);
      if (queueIds.length === 0) {
        backlog.nothingWaits();
        return false;
      }
      await Promise.race([Promise.all(queueIds.map(send)), sleep(RUN_MS)]);
      await backlog.look();
      return false;
    },

    /** The duty that gives back what is kept of queues that are gone. */
    forget: createForget(db, crossing),

    /** A replica may have been killed before it sent what it wrote down: the duty looks, also while this one dozes. */
    lookAgain(): void {
      looksAgain = true;
    },

    /** Whether there is work for the duty while the replica dozes. */
    hasWork: () => looksAgain || behind.queues.size > 0 || backlog.waiting().jobs > 0,

    waiting: backlog.waiting,
  };
}

export type Relay = ReturnType<typeof createRelay>;
