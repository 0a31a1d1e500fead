import { setTimeout as sleep } from 'node:timers/promises';
import { idempotencyKeyReused, isOutage } from '../errors.ts';
import type { Job } from '../job.ts';
import { LONG_LOCK_WAIT_MS, lockTimeoutOf, orUnavailable } from '../postgres/lockWait.ts';
import type { Database, Db } from '../postgres/pool.ts';
import type { Semaphore } from '../postgres/semaphore.ts';
import { planned, prepared, row } from '../postgres/statements.ts';
import type { PathOf } from './checks.ts';
import type { Enqueue } from './enqueue.ts';
import type { NewJob } from './newJob.ts';

// Planned at each call: the table is empty in most places, and a plan made then would read all of it when keys come.
const find = planned('enqueue/idempotency_find', row<Found>());
const take = prepared('enqueue/idempotency_take');
const answer = planned('enqueue/idempotency_answer');

/** How often it is looked whether a request of another replica, which waits for its job, is answered. */
const LOOK_MS = 200;

/** What tells whether two requests are one; the fingerprint is a SHA-256 in hex. */
export interface IdempotentRequest {
  route: string;
  key: string;
  fingerprint: string;
}

/** What a request was answered, for the same request to be answered again. */
export interface Answer {
  status: number;
  location: string | null;
  body: string;
}

interface Found extends Answer {
  matches: boolean;
  /** Whether it may still be answered something else. */
  open: boolean | null;
}

/** What is done of a request once its jobs are committed. */
export interface Afterwards {
  /** How long it may take. */
  seconds: number;
  /** Another answer, if it comes to one. */
  answer(jobs: Job[]): Promise<Answer | undefined>;
}

/** Jobs to enqueue once for each key. */
export interface IdempotentEnqueue {
  request: IdempotentRequest;
  jobs: NewJob[];
  at: PathOf;
  /** What the jobs are answered as. */
  answerOf(jobs: Job[]): Answer;
  afterwards?: Afterwards | undefined;
}

/** The answer that is remembered. @throws Refusal `idempotency_key_reused` when it is another request's. */
async function recall(db: Db, { route, key, fingerprint }: IdempotentRequest): Promise<Found | undefined> {
  const [found] = await db.query(find, { route, key, fingerprint });
  if (found && !found.matches) throw idempotencyKeyReused(key);
  return found;
}

/** Requests that are carried out once for each key: the answer commits with the jobs that it speaks of. */
export function idempotentEnqueue(context: {
  db: Database;
  enqueueWithin: Enqueue['enqueueWithin'];
  inTransactionSlot: Semaphore;
  /** Whether nobody waits any more. */
  closed(): boolean;
}) {
  const { db, enqueueWithin, inTransactionSlot, closed } = context;
  const underWay = new Map<string, { fingerprint: string; answer: Promise<Answer> }>();

  const writeDown = (
    on: Db,
    { route, key }: IdempotentRequest,
    { status, location, body }: Answer,
    openSeconds?: number,
  ) => on.query(answer, { route, key, status, location, body, open_seconds: openSeconds ?? null });

  /** The first answer, and the jobs, unless the request was carried out before. */
  const carryOut = ({ request, jobs, at, answerOf, afterwards }: IdempotentEnqueue) =>
    enqueueWithin<{ given: Found | Answer; written?: Job[] }>(jobs, at, async (transaction, enqueueIn) => {
      const { route, key, fingerprint } = request;
      const taken = await transaction.query(take, {
        route,
        key,
        fingerprint,
        lock_timeout: lockTimeoutOf(LONG_LOCK_WAIT_MS),
      });
      if (taken.length === 0) return { given: (await recall(transaction, request)) as Found };
      const written = await enqueueIn();
      const given = answerOf(written);
      await writeDown(transaction, request, given, afterwards?.seconds);
      return { given, written };
    });

  /** The answer that stays: the same client may be answered it by another replica. */
  async function conclude(
    request: IdempotentRequest,
    first: Answer,
    last: Answer | undefined,
  ): Promise<Answer> {
    try {
      await writeDown(db, request, last ?? first);
      return last ?? first;
    } catch (error) {
      if (!isOutage(error)) throw error;
      return first;
    }
  }

  /** What was answered, once it is no longer open. */
  async function concluded(request: IdempotentRequest, found: Found | Answer): Promise<Answer> {
    let known: Found | Answer = found;
    while ('open' in known && known.open && !closed()) {
      await sleep(LOOK_MS);
      known = (await recall(db, request)) ?? { ...known, open: false };
    }
    return known;
  }

  async function recallOrCarryOut(asked: IdempotentEnqueue): Promise<Answer> {
    const { request, afterwards } = asked;
    // Before anything else: a request that was carried out creates no queue again.
    const remembered = await recall(db, request);
    if (remembered) return concluded(request, remembered);
    const { given, written } = await orUnavailable(
      inTransactionSlot(() => carryOut(asked)),
      'Another request holds this Idempotency-Key or the queue for too long.',
    );
    if (!written) return concluded(request, given);
    return afterwards ? conclude(request, given, await afterwards.answer(written)) : given;
  }

  /**
   * Inserts jobs and answers what `answerOf` makes of them, or, when the request was carried out within 24 hours on
   * whatever replica, what it answered then; one that is under way is waited for.
   * @throws Refusal `idempotency_key_reused` when it had another fingerprint
   */
  return async function enqueueOnce(asked: IdempotentEnqueue): Promise<Answer> {
    const { route, key, fingerprint } = asked.request;
    const id = `${route} ${key}`;
    for (let first = underWay.get(id); first; first = underWay.get(id)) {
      // No connection is spent on waiting for one in this process.
      if (first.fingerprint === fingerprint) return first.answer;
      try {
        await first.answer;
      } catch (error) {
        if (isOutage(error)) throw error;
        continue;
      }
      throw idempotencyKeyReused(key);
    }
    const given = recallOrCarryOut(asked).finally(() => underWay.delete(id));
    underWay.set(id, { fingerprint, answer: given });
    return given;
  };
}
