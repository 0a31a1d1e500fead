import { setTimeout as sleep } from 'node:timers/promises';
import { idempotencyKeyReused, isOutage } from '../errors.ts';
import type { Job } from '../job.ts';
import type { Ledger } from '../ledger.ts';
import { LEFT_WAIT_BYTES } from '../memory.ts';
import type { Database } from '../postgres/pool.ts';
import type { Places } from '../queues/elsewhere.ts';
import {
  type Afterwards,
  type Enqueued,
  enqueuedOf,
  type IdempotentEnqueue,
  type IdempotentRequest,
  type Once,
} from '../verbs/enqueue.ts';
import type { Enqueue } from './enqueue.ts';
import { firstQueueOf, refuseKeysElsewhere } from './intoQueues.ts';
import { keepJobs, recall, takeKey } from './keptJobs.ts';
import type { OnceBatcher } from './onceBatcher.ts';

/** While a request waits for its job on another replica, this replica looks this often whether it is answered. */
const LOOK_MS = 200;

/** What is answered first. A request that was carried out before has enqueued nothing now. */
interface Begun {
  given: Once & { open?: boolean };
  enqueued?: Enqueued;
}

/** A request that is carried out. */
interface UnderWay {
  fingerprint: string;
  /** Settles when its jobs are committed, or when a record is found. */
  begun: Promise<Begun>;
  /** It may come much later. */
  answer: Promise<Once>;
}

/** Copies, because a job may become the head of its group after the commit, and the first answer says what a repeat will. */
const asKept = (jobs: Job[]): Job[] => jobs.map((job) => ({ ...job }));

const replay = ({ jobs, older }: Once): Once => ({ jobs, older, replayed: true });

/** Keeps what is answered in the end, and returns it. In an outage the first answer stays, as another replica would give that. */
async function conclude(
  db: Database,
  request: IdempotentRequest,
  first: Once,
  finished: Job | undefined,
): Promise<Once> {
  const last = finished ? { jobs: [finished] } : first;
  try {
    await keepJobs(db, request, last.jobs);
    return last;
  } catch (error) {
    if (!isOutage(error)) throw error;
    return first;
  }
}

/** Waits until nothing replaces the kept jobs any more, and returns them. */
async function whenFinal(
  db: Database,
  request: IdempotentRequest,
  kept: Begun['given'],
  closed: () => boolean,
): Promise<Once> {
  let known = kept;
  while (known.open && !closed()) {
    await sleep(LOOK_MS);
    known = (await recall(db, request)) ?? { ...known, open: false };
  }
  return known;
}

/** The answer of a request. As soon as its client has hung up, what there is: the wait goes on without it. */
async function answerOrLeave({ begun, answer }: UnderWay, afterwards: Afterwards | undefined) {
  if (!afterwards) return answer;
  const { given } = await begun;
  return new Promise<Once>((resolve, reject) => {
    answer.then(resolve, reject);
    afterwards.onHangup(() => resolve(given));
  });
}

interface Context {
  db: Database;
  enqueueWithin: Enqueue['enqueueWithin'];
  enqueueTogether: Enqueue['enqueueTogether'];
  insertOnce: OnceBatcher;
  ledger: Ledger;
  crossing?: Places | undefined;
  /** True when this replica stops, and lets no client wait any more. */
  closed(): boolean;
}

/** Makes the function that carries a request out, unless it was carried out before. */
function createCarryOut({ db, enqueueWithin, enqueueTogether, insertOnce, crossing }: Context) {
  /** In a transaction of its own. */
  async function carryOutAlone({ request, jobs, at, afterwards, by }: IdempotentEnqueue): Promise<Begun> {
    if (crossing) refuseKeysElsewhere(jobs, at, crossing);
    return enqueueWithin<Begun>(
      jobs,
      at,
      async (transaction, enqueueIn) => {
        if (!(await takeKey(transaction, request)))
          return { given: (await recall(transaction, request)) as Once };
        const inserted = await enqueueIn();
        await keepJobs(transaction, request, inserted, afterwards?.seconds);
        return { given: { jobs: asKept(inserted) }, enqueued: enqueuedOf(inserted) };
      },
      { by, first: firstQueueOf(jobs) },
    );
  }

  return async function carryOut(asked: IdempotentEnqueue): Promise<Begun> {
    const { request, jobs, at, afterwards } = asked;
    const done = await enqueueTogether(jobs, at, async (jobs) => {
      const inserted = await insertOnce({ request, jobs, openSeconds: afterwards?.seconds });
      return inserted && { inserted, jobs: asKept(inserted) };
    });
    if (done) return { given: { jobs: done.jobs }, enqueued: enqueuedOf(done.inserted) };
    // Nothing was done with others. Alone, it is told why. The look comes first: a request that was carried out must not
    // create its queue again.
    const given = await recall(db, request);
    if (given) return { given };
    return carryOutAlone(asked);
  };
}

/** Carries out requests once for each key. The record of the key commits together with the jobs. */
export function idempotentEnqueue(context: Context) {
  const { db, closed } = context;
  const carryOut = createCarryOut(context);
  const underWay = new Map<string, UnderWay>();
  context.ledger.count('idempotency_keys', () => underWay.size);

  /** It may go on for long without its client. So it knows no more of its request than it needs: no body, no connection. */
  async function finish(
    id: string,
    request: IdempotentRequest,
    afterwards: Afterwards | undefined,
    begun: Promise<Begun>,
  ): Promise<Once> {
    try {
      const { given, enqueued } = await begun;
      if (!enqueued) return replay(await whenFinal(db, request, given, closed));
      return afterwards ? await conclude(db, request, given, await afterwards.finished(enqueued)) : given;
    } finally {
      underWay.delete(id);
    }
  }

  function begin(id: string, asked: IdempotentEnqueue): UnderWay {
    const { request, afterwards } = asked;
    const hold = afterwards?.hold();
    hold?.take(LEFT_WAIT_BYTES, 'waiting');
    const begun = carryOut(asked);
    const answer = finish(id, request, afterwards, begun).finally(() => hold?.release());
    // Maybe nobody waits for it any more.
    answer.catch(() => undefined);
    const begunRequest = { fingerprint: request.fingerprint, begun, answer };
    underWay.set(id, begunRequest);
    return begunRequest;
  }

  /**
   * Inserts jobs, and returns them. If a replica has carried out the request within 24 hours, it returns the jobs as they
   * were answered then. If the request is under way, it waits for that answer. Another request with
   * the same key waits only until the jobs of the first are committed, and is refused then.
   * @throws Refusal `idempotency_key_reused` when the key has another fingerprint
   */
  return async function enqueueOnce(asked: IdempotentEnqueue): Promise<Once> {
    const { route, key, fingerprint } = asked.request;
    // No header has a line break.
    const id = `${route}\n${key}`;
    for (let first = underWay.get(id); first; first = underWay.get(id)) {
      // The first request is in this process, so that waiting for it needs no connection.
      if (first.fingerprint === fingerprint) return replay(await answerOrLeave(first, asked.afterwards));
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
    return answerOrLeave(begin(id, asked), asked.afterwards);
  };
}
