import { randomUUID } from 'node:crypto';
import { createBatcher } from '../batching/batcher.ts';
import { type JoinRoundTrip, type RoundTrip, SEEN } from '../batching/roundTrips.ts';
import { QueueGone } from '../errors.ts';
import type { Arrivals } from '../floor/arrivals.ts';
import type { Job, JobState } from '../job.ts';
import { isRepeat } from '../postgres/errorClasses.ts';
import { prepared, row } from '../postgres/statements.ts';
import { textArray } from '../postgres/textArray.ts';
import type { Queue } from '../queues/cache.ts';
import type { Answer, IdempotentRequest } from '../verbs/enqueue.ts';
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

/** What the database decides about a job, as an answer writes it. It holds for all ready jobs when it has no id. */
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

/**
 * A request with an Idempotency-Key. The answer is written before the database decides about the jobs. So where there are several, it has to
 * decide the same about all of them: see `areAlike`.
 */
export interface OnceRequest {
  request: IdempotentRequest;
  jobs: JobToInsert[];
  answerOf(jobs: Job[]): Answer | Promise<Answer>;
  /** How long another answer may replace this one. */
  openSeconds: number | undefined;
}

/** The jobs of a request, and the answer that is kept under its key. */
export interface OnceResult {
  inserted: Job[];
  answer: Answer;
}

interface Drafted extends OnceRequest {
  ids: string[];
  /** The answer, with marks. */
  draft: Answer;
}

/**
 * The answer is kept in the statement that inserts the job, which decides some of what the answer shows. So the answer is
 * written with these marks in their places, and the statement fills them in. Nobody else knows them: no text of a user contains one.
 */
const secret = randomUUID();
const MARKS = { state: `state ${secret}`, run_at: `run_at ${secret}`, created_at: `created_at ${secret}` };

const firstOf = ({ ids }: Drafted) => ids[0] as string;

/** The jobs of a request have ids one behind the other. */
const byId = (a: Drafted, b: Drafted) => (firstOf(a) < firstOf(b) ? -1 : 1);

const isReadyAtOnce = ({ run_at, delay_seconds }: JobToInsert) => run_at === null && delay_seconds === 0;

/** Whether the database will decide the same about all of these jobs. */
const areAlike = (jobs: JobToInsert[]) =>
  jobs.length === 1 ||
  jobs.every((job) => isReadyAtOnce(job) && job.group === null && job.awaited_seconds === null);

/**
 * Enqueues the jobs of requests with Idempotency-Keys, in round trips of their queue that wait only for a short time. The
 * result is undefined for a request whose key has an answer already, and for one whose jobs are not alike. @throws QueueGone when the queue was deleted
 */
export function createOnceBatcher(context: {
  joinRoundTrip: JoinRoundTrip;
  arrivals: Arrivals;
  newId: (queueId: number) => string;
  inserted: (jobs: Job[], trip?: number) => void;
  /** Has claims that wait go along in a round trip that puts so many jobs into a queue. Whether they have seen them all. */
  goAlong: (queue: Queue, jobs: number, trip: RoundTrip) => () => boolean;
}) {
  const { joinRoundTrip, arrivals, newId, inserted, goAlong } = context;
  let repeatsUntil = Number.NEGATIVE_INFINITY;

  const batched = createBatcher<Drafted, Job[] | undefined>({
    joinRoundTrip,
    weigh: ({ jobs }) => Math.max(1 / BATCH_REQUESTS, weigh(jobs)),
    maxWeight: 1,
    async run(queueId, items, trip) {
      const asked = items.toSorted(byId);
      const parameters = {
        queue_id: queueId,
        ...newJobParameters(
          asked.flatMap(({ ids }) => ids),
          asked.flatMap(({ jobs }) => jobs),
        ),
        firsts: asked.map(firstOf),
        routes: textArray(asked.map(({ request }) => request.route)),
        keys: textArray(asked.map(({ request }) => request.key)),
        fingerprints: textArray(asked.map(({ request }) => request.fingerprint)),
        statuses: asked.map(({ draft }) => draft.status),
        locations: textArray(asked.map(({ draft }) => draft.location)),
        bodies: textArray(asked.map(({ draft }) => draft.body)),
        open_seconds: asked.map(({ openSeconds }) => openSeconds ?? null),
        state_mark: MARKS.state,
        run_at_mark: MARKS.run_at,
        created_at_mark: MARKS.created_at,
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
        const decided = (found.get(ids[0] as string) ?? found.get(null)) as Decided | PassedOver;
        if (decided.state === null) return undefined;
        return jobs.map((job, i) => toJob(job, ids[i] as string, decided));
      });
      const all = results.flatMap((written) => written ?? []);
      inserted(all, areSeen?.() ? SEEN : undefined);
      return results;
    },
  });

  return async (asked: OnceRequest): Promise<OnceResult | undefined> => {
    const { jobs, answerOf } = asked;
    if (!areAlike(jobs)) return undefined;
    const queueId = (jobs[0] as JobToInsert).queue.id;
    const ids = jobs.map(() => newId(queueId));
    const drafted = jobs.map((job, i) =>
      toJob(job, ids[i] as string, { ...MARKS, state: MARKS.state as JobState }),
    );
    const draft = await answerOf(drafted);
    const written = await batched(queueId, { ...asked, ids, draft });
    return written && { inserted: written, answer: await answerOf(written) };
  };
}

export type OnceBatcher = ReturnType<typeof createOnceBatcher>;
