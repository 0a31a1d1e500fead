import { createBatcher } from '../batching/batcher.ts';
import { type JoinRoundTrip, type RoundTrip, SEEN } from '../batching/roundTrip.ts';
import { QueueGone } from '../errors.ts';
import type { Arrivals } from '../floor/arrivals.ts';
import type { Job, JobState } from '../job.ts';
import { isRepeat } from '../postgres/errorClasses.ts';
import { prepared, row } from '../postgres/statements.ts';
import { textArray } from '../postgres/textArray.ts';
import type { Queue } from '../queues/cache.ts';
import type { IdempotentRequest } from '../verbs/enqueue.ts';
import { type JobToInsert, newJobParameters, toJob } from './newJob.ts';
import { weigh } from './weight.ts';

const statements = {
  once: prepared('enqueue/insert_once', row<Decided | PassedOver>()),
  /** For new keys only: it fails for a repeat. */
  newOnce: prepared('enqueue/insert_new_once', row<Decided>()),
};

/** After a repeat, others are likely. For so long, the statement serves that passes them over. */
const REPEATS_MS = 10_000;

/** A batch has at most this number of requests, and as many jobs as any (weight.ts). */
const BATCH_REQUESTS = 250;

/** What the database decides about a job. Without an id, it holds for all jobs that are ready. */
interface Decided {
  id: string | null;
  state: JobState;
  run_at: string;
  created_at: string;
}

interface PassedOver {
  id: string | null;
  state: null;
  run_at: null;
  created_at: null;
}

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

/**
 * Enqueues the jobs of requests with idempotency keys, in round trips of their queue that wait only for a short time. The
 * result is undefined for a request whose key has a record already. @throws QueueGone when the queue was deleted
 */
export function createOnceBatcher(context: {
  joinRoundTrip: JoinRoundTrip;
  arrivals: Arrivals;
  newId: (queueId: number) => string;
  inserted: (jobs: Job[], trip?: number) => void;
  /** Lets waiting claims join a round trip that inserts so many jobs. Returns whether they saw every job. */
  goAlong: (queue: Queue, jobs: number, trip: RoundTrip) => () => boolean;
}) {
  const { joinRoundTrip, arrivals, newId, inserted, goAlong } = context;
  let repeatsUntil = Number.NEGATIVE_INFINITY;

  const batched = createBatcher<Numbered, Job[] | undefined>({
    joinRoundTrip,
    weigh: ({ jobs }) => Math.max(1 / BATCH_REQUESTS, weigh(jobs)),
    maxWeight: 1,
    async run(queueId, items, trip) {
      const asked = items.toSorted(byId);
      const parameters = {
        queue_id: queueId,
        queue: items[0]?.jobs[0]?.queue.name as string,
        ...newJobParameters(
          asked.flatMap(({ ids }) => ids),
          asked.flatMap(({ jobs }) => jobs),
        ),
        firsts: asked.map(firstOf),
        routes: textArray(asked.map(({ request }) => request.route)),
        keys: textArray(asked.map(({ request }) => request.key)),
        fingerprints: textArray(asked.map(({ request }) => request.fingerprint)),
        open_seconds: asked.map(({ openSeconds }) => openSeconds ?? null),
      };
      const roundTrip = trip as RoundTrip;
      const ready = items.flatMap(({ jobs }) => jobs.filter(isReadyAtOnce));
      const [first] = ready;
      let areSeen = first && goAlong(first.queue, ready.length, roundTrip);
      const insertWith = (statement: typeof statements.once) =>
        arrivals.watch(
          () => [queueId],
          () => roundTrip.db.query(statement, parameters),
        );
      const orPassOver = (error: unknown) => {
        if (!isRepeat(error)) throw error;
        repeatsUntil = performance.now() + REPEATS_MS;
        // Its round trip is undone, and the claims that went along have run without it.
        areSeen = undefined;
        return insertWith(statements.once);
      };
      const rows =
        performance.now() < repeatsUntil
          ? await insertWith(statements.once)
          : await insertWith(statements.newOnce).catch(orPassOver);
      if (rows.length === 0) throw new QueueGone();
      const found = new Map(rows.map((row) => [row.id, row]));
      const results = items.map(({ ids, jobs }) => {
        const decided = ids.map((id) => (found.get(id) ?? found.get(null)) as Decided | PassedOver);
        if (decided[0]?.state === null) return undefined;
        return jobs.map((job, i) => toJob(job, ids[i] as string, decided[i] as Decided));
      });
      const all = results.flatMap((written) => written ?? []);
      inserted(all, areSeen?.() ? SEEN : undefined);
      return results;
    },
  });

  return (asked: OnceRequest): Promise<Job[] | undefined> => {
    const queueId = (asked.jobs[0] as JobToInsert).queue.id;
    return batched(queueId, { ...asked, ids: asked.jobs.map(() => newId(queueId)) });
  };
}

export type OnceBatcher = ReturnType<typeof createOnceBatcher>;
