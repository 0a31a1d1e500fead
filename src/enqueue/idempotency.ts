import { setTimeout as sleep } from 'node:timers/promises';
import { idempotencyKeyReused, isOutage } from '../errors.ts';
import type { Job } from '../job.ts';
import { orUnavailable } from '../postgres/lockWait.ts';
import type { Database } from '../postgres/pool.ts';
import type { Semaphore } from '../postgres/semaphore.ts';
import type { PathOf } from './checks.ts';
import type { Enqueue } from './enqueue.ts';
import {
  type Answer,
  type IdempotentRequest,
  type KeptAnswer,
  keepAnswer,
  recall,
  takeKey,
} from './keptAnswers.ts';
import type { NewJob } from './newJob.ts';
import type { OnceBatcher } from './onceBatcher.ts';

/** While a request waits for its job on another replica, this replica looks this often whether it is answered. */
const LOOK_MS = 200;

/** What a request does once its jobs are committed, such as waiting for the end of its job. */
export interface Afterwards {
  /** The longest time that it takes. */
  seconds: number;
  /** Another answer, if there is one. */
  answer(jobs: Job[]): Promise<Answer | undefined>;
}

/** The answer of a request that has enqueued these jobs. */
export type AnswerOf = (jobs: Job[]) => Answer | Promise<Answer>;

/** Jobs to enqueue once for each key. */
export interface IdempotentEnqueue {
  request: IdempotentRequest;
  jobs: NewJob[];
  at: PathOf;
  answerOf: AnswerOf;
  afterwards?: Afterwards | undefined;
}

const replay = (answer: Answer): Answer => ({ ...answer, replayed: true });

/** Carries out requests once for each key. The answer commits together with the jobs. */
export function idempotentEnqueue(context: {
  db: Database;
  enqueueWithin: Enqueue['enqueueWithin'];
  enqueueTogether: Enqueue['enqueueTogether'];
  insertOnce: OnceBatcher;
  inTransactionSlot: Semaphore;
  /** True when this replica stops, and lets no client wait any more. */
  closed(): boolean;
}) {
  const { db, enqueueWithin, enqueueTogether, insertOnce, inTransactionSlot, closed } = context;
  /** `begun` settles when the jobs of a request are committed, or when an answer is found. `answer` may come much later. */
  const underWay = new Map<
    string,
    { fingerprint: string; begun: Promise<unknown>; answer: Promise<Answer> }
  >();

  /** The first answer, and the jobs, unless the request was carried out before. */
  const carryOut = ({ request, jobs, at, answerOf, afterwards }: IdempotentEnqueue) =>
    enqueueWithin<{ given: KeptAnswer | Answer; written?: Job[] }>(
      jobs,
      at,
      async (transaction, enqueueIn) => {
        if (!(await takeKey(transaction, request)))
          return { given: (await recall(transaction, request)) as KeptAnswer };
        const written = await enqueueIn();
        const given = await answerOf(written);
        await keepAnswer(transaction, request, given, afterwards?.seconds);
        return { given, written };
      },
    );

  /** Keeps the final answer, and returns it. In an outage the first answer stays, as another replica would give that. */
  async function conclude(
    request: IdempotentRequest,
    first: Answer,
    last: Answer | undefined,
  ): Promise<Answer> {
    try {
      await keepAnswer(db, request, last ?? first);
      return last ?? first;
    } catch (error) {
      if (!isOutage(error)) throw error;
      return first;
    }
  }

  /** Waits until a kept answer is final, and returns it. */
  async function whenFinal(request: IdempotentRequest, kept: KeptAnswer | Answer): Promise<Answer> {
    let known = kept;
    while ('open' in known && known.open && !closed()) {
      await sleep(LOOK_MS);
      known = (await recall(db, request)) ?? { ...known, open: false };
    }
    return known;
  }

  async function recallOrCarryOut(asked: IdempotentEnqueue) {
    const { request, jobs, at, answerOf, afterwards } = asked;
    const done = await enqueueTogether(jobs, at, (jobs) =>
      insertOnce({ request, jobs, answerOf, openSeconds: afterwards?.seconds }),
    );
    if (done) return { given: done.answer, written: done.inserted };
    // Nothing was done with others. Alone, it is told why. The look comes first: a request that was carried out must not
    // create its queue again.
    const given = await recall(db, request);
    if (given) return { given };
    return orUnavailable(
      inTransactionSlot(() => carryOut(asked)),
      'Another request holds this Idempotency-Key or the queue for too long.',
    );
  }

  async function finish(
    id: string,
    { request, afterwards }: IdempotentEnqueue,
    begun: ReturnType<typeof recallOrCarryOut>,
  ): Promise<Answer> {
    try {
      const { given, written } = await begun;
      if (!written) return replay(await whenFinal(request, given));
      return afterwards ? await conclude(request, given, await afterwards.answer(written)) : given;
    } finally {
      underWay.delete(id);
    }
  }

  /**
   * Inserts jobs, and returns the answer that `answerOf` makes of them. If a replica has carried out the request within
   * 24 hours, it returns the answer of then. If the request is under way, it waits for that answer. Another request with
   * the same key waits only until the jobs of the first are committed, and is refused then.
   * @throws Refusal `idempotency_key_reused` when the key has another fingerprint
   */
  return async function enqueueOnce(asked: IdempotentEnqueue): Promise<Answer> {
    const { route, key, fingerprint } = asked.request;
    // No header has a line break.
    const id = `${route}\n${key}`;
    for (let first = underWay.get(id); first; first = underWay.get(id)) {
      // The first request is in this process, so that waiting for it needs no connection.
      if (first.fingerprint === fingerprint) return replay(await first.answer);
      try {
        await first.begun;
      } catch (error) {
        if (isOutage(error)) throw error;
        // Nothing was enqueued under this key. It is free again when the first request is answered.
        await first.answer.catch(() => undefined);
        continue;
      }
      throw idempotencyKeyReused(key);
    }
    const begun = recallOrCarryOut(asked);
    const answer = finish(id, asked, begun);
    underWay.set(id, { fingerprint, begun, answer });
    return answer;
  };
}
