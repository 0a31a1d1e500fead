import { createBatcher } from '../batching/batcher.ts';
import { type JoinRoundTrip, type RoundTrip, SEEN } from '../batching/roundTrip.ts';
import type { Arrivals } from '../floor/arrivals.ts';
import type { Job } from '../job.ts';
import { isRepeat } from '../postgres/errorClasses.ts';
import { callOf } from '../postgres/pipeline.ts';
import type { Db } from '../postgres/pool.ts';
import { prepared, row } from '../postgres/statements.ts';
import { textArray } from '../postgres/textArray.ts';
import type { Queue } from '../queues/cache.ts';
import type { IdempotentRequest } from '../verbs/enqueue.ts';
import { dealOut, insertOn, toJobs } from './insert.ts';
import type { JobToInsert } from './newJob.ts';
import { weigh } from './ways.ts';

const statements = {
  keep: prepared('enqueue/idempotency_keep_new'),
  taken: prepared('enqueue/idempotency_taken', row<{ n: number }>()),
};

/** After a repeat, others are likely. For so long, keys are looked for before their jobs are inserted. */
const REPEATS_MS = 10_000;

/** A batch has at most this number of requests, and as many jobs as any (ways.ts). */
const BATCH_REQUESTS = 250;

/** A request with an idempotency key. */
export interface OnceRequest {
  request: IdempotentRequest;
  jobs: JobToInsert[];
  /** How long other jobs may replace the kept ones. */
  openSeconds: number | undefined;
}

interface Numbered extends OnceRequest {
  /** The ids of the jobs, one behind the other. */
  ids: string[];
}

const firstOf = ({ ids }: Numbered) => ids[0] as string;

const byId = (a: Numbered, b: Numbered) => (firstOf(a) < firstOf(b) ? -1 : 1);

const isReadyAtOnce = ({ run_at, delay_seconds }: JobToInsert) => run_at === null && delay_seconds === 0;

const keysOf = (requests: IdempotentRequest[]) => ({
  routes: textArray(requests.map(({ route }) => route)),
  keys: textArray(requests.map(({ key }) => key)),
});

/**
 * Enqueues the jobs of requests with idempotency keys, in round trips of their queue that wait only for a short time. The
 * result is undefined for a request whose key has a record already. @throws QueueGone when the queue was deleted
 */
export function createOnceBatcher(context: {
  db: Db;
  joinRoundTrip: JoinRoundTrip;
  arrivals: Arrivals;
  newId: (queueId: number) => string;
  inserted: (jobs: Job[], trip?: number) => void;
  /** Lets waiting claims join a round trip that inserts so many jobs. Returns whether they saw every job. */
  goAlong: (queue: Queue, jobs: number, trip: RoundTrip) => () => boolean;
}) {
  const { joinRoundTrip, arrivals, newId, inserted, goAlong } = context;
  let repeatsUntil = Number.NEGATIVE_INFINITY;

  /** Tells for each request whether its key has a record. */
  async function areTaken(on: Db, requests: IdempotentRequest[]): Promise<boolean[]> {
    const places = new Set((await on.query(statements.taken, keysOf(requests))).map(({ n }) => n));
    return requests.map((_, i) => places.has(i + 1));
  }

  const isTaken = createBatcher<IdempotentRequest, boolean>({
    weigh: () => 1 / BATCH_REQUESTS,
    maxWeight: 1,
    run: (_, requests) => areTaken(context.db, requests),
  });

  /** Inserts the jobs, and keeps them under the keys. It fails with `isRepeat`, and does nothing, when a key has a record. */
  function insertAll(on: RoundTrip['db'], queueId: number, items: Numbered[]) {
    const requests = items.map(({ request }) => request);
    const jobs = items.flatMap((item) => item.jobs);
    const ids = items.flatMap((item) => item.ids);
    const keep = callOf(statements.keep, {
      queue_id: queueId,
      queue: jobs[0]?.queue.name as string,
      ids,
      firsts: items.map(firstOf),
      ...keysOf(requests),
      fingerprints: textArray(requests.map(({ fingerprint }) => fingerprint)),
      open_seconds: items.map(({ openSeconds }) => openSeconds ?? null),
    });
    return arrivals.watch(
      () => [queueId],
      async () => {
        return toJobs(jobs, ids, await insertOn(on, { queueId, ids, jobs }, { behind: [keep] }));
      },
    );
  }

  const batched = createBatcher<Numbered, Job[] | undefined>({
    joinRoundTrip,
    weigh: ({ jobs }) => Math.max(1 / BATCH_REQUESTS, weigh(jobs)),
    maxWeight: 1,
    async run(queueId, items, trip) {
      const roundTrip = trip as RoundTrip;
      const ready = items.flatMap(({ jobs }) => jobs.filter(isReadyAtOnce));
      const [first] = ready;
      let areSeen = first && goAlong(first.queue, ready.length, roundTrip);
      let fresh = items.toSorted(byId);
      const orWithoutRepeats = async (error: unknown) => {
        if (!isRepeat(error)) throw error;
        repeatsUntil = performance.now() + REPEATS_MS;
        // Its round trip is undone, and the claims that went along have run without it.
        areSeen = undefined;
        const alone = roundTrip.leave().db;
        const taken = await areTaken(
          alone,
          fresh.map(({ request }) => request),
        );
        fresh = fresh.filter((_, i) => !taken[i]);
        return fresh.length > 0 ? insertAll(alone, queueId, fresh) : [];
      };
      const all = await insertAll(roundTrip.db, queueId, fresh).catch(orWithoutRepeats);
      inserted(all, areSeen?.() ? SEEN : undefined);
      const dealt = dealOut(
        all,
        fresh.map(({ jobs }) => jobs),
      );
      const own = new Map(fresh.map((item, i) => [item, dealt[i]]));
      return items.map((item) => own.get(item));
    },
  });

  return async (asked: OnceRequest): Promise<Job[] | undefined> => {
    const queueId = (asked.jobs[0] as JobToInsert).queue.id;
    if (performance.now() < repeatsUntil && (await isTaken(queueId, asked.request))) return undefined;
    return batched(queueId, { ...asked, ids: asked.jobs.map(() => newId(queueId)) });
  };
}

export type OnceBatcher = ReturnType<typeof createOnceBatcher>;
