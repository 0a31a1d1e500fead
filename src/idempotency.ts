import { type Database, type Db, isLockTimeout } from './db.ts';
import type { Enqueueing } from './enqueue.ts';
import { idempotencyKeyReused, isOutage, unavailable } from './errors.ts';
import { createGate } from './gate.ts';
import { planned, prepared } from './sql.ts';
import type { Job, NewJob } from './types.ts';

// Planned at each call: the table is empty in most places, and a plan made then would read all of it when keys come.
const find = planned('idempotency_find');
const take = prepared('idempotency_take');
const answer = planned('idempotency_answer');

/** Transactions of such requests at once; the pool's other connections serve the requests without a key. */
const AT_ONCE = 4;

/** What tells whether two requests are one; the fingerprint is a SHA-256 in hex. */
export interface Keyed {
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
}

/** The answer that is remembered. @throws Refusal `idempotency_key_reused` when it is another request's. */
async function recall(db: Db, { route, key, fingerprint }: Keyed): Promise<Answer | undefined> {
  const [found] = await db.query<Found>(find, [route, key, fingerprint]);
  if (found && !found.matches) throw idempotencyKeyReused(key);
  return found;
}

/** Requests that are carried out once for each key: the answer commits with the jobs that it speaks of. */
export function onceByKey(context: { db: Database; enqueueWithin: Enqueueing['enqueueWithin'] }) {
  const { db, enqueueWithin } = context;
  const throughGate = createGate(AT_ONCE);
  const underWay = new Map<string, { fingerprint: string; answer: Promise<Answer> }>();

  type Wish = [jobs: NewJob[], at: (i: number) => string, answerOf: (jobs: Job[]) => Answer];

  const carryOut = (request: Keyed, ...[jobs, at, answerOf]: Wish): Promise<Answer> =>
    enqueueWithin(jobs, at, async (transaction, enqueueIn) => {
      const { route, key, fingerprint } = request;
      const taken = await transaction.query(take, [route, key, fingerprint]);
      if (taken.length === 0) return (await recall(transaction, request)) as Answer;
      const given = answerOf(await enqueueIn());
      await transaction.query(answer, [route, key, given.status, given.location, given.body]);
      return given;
    });

  async function recallOrCarryOut(request: Keyed, ...wish: Wish): Promise<Answer> {
    // Before anything else: a request that was carried out creates no queue again.
    const remembered = await recall(db, request);
    if (remembered) return remembered;
    try {
      return await throughGate(() => carryOut(request, ...wish));
    } catch (error) {
      if (!isLockTimeout(error)) throw error;
      throw unavailable('Another request holds this Idempotency-Key or the queue for too long.');
    }
  }

  /**
   * Inserts jobs and answers what `answerOf` makes of them, or, when the request was carried out within 24 hours on
   * whatever replica, what it answered then; one that is under way is waited for.
   * @throws Refusal `idempotency_key_reused` when it had another fingerprint
   */
  return async function enqueueOnce(request: Keyed, ...wish: Wish): Promise<Answer> {
    const { route, key, fingerprint } = request;
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
    const given = recallOrCarryOut(request, ...wish).finally(() => underWay.delete(id));
    underWay.set(id, { fingerprint, answer: given });
    return given;
  };
}
