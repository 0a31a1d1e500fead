import { randomUUID } from 'node:crypto';
import { createBatcher } from '../batching/batcher.ts';
import type { JoinRoundTrip } from '../batching/roundTrips.ts';
import { QueueGone } from '../errors.ts';
import type { Job, JobState } from '../job.ts';
import { prepared, row } from '../postgres/statements.ts';
import { textArray } from '../postgres/textArray.ts';
import type { Arrivals } from '../queues/arrivals.ts';
import type { Answer, IdempotentRequest } from './keptAnswers.ts';
import { type JobToInsert, newJobParameters, toJob } from './newJob.ts';
import { weigh } from './weight.ts';

const statement = prepared('enqueue/insert_once', row<Decided | PassedOver>());

const BATCH_ROWS = 250;

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

/** A request with an Idempotency-Key that enqueues one job. */
export interface OnceRequest {
  request: IdempotentRequest;
  job: JobToInsert;
  answerOf(jobs: Job[]): Answer | Promise<Answer>;
  /** How long another answer may replace this one. */
  openSeconds: number | undefined;
}

/** The job of a request, and the answer that is kept under its key. */
export interface OnceResult {
  inserted: Job[];
  answer: Answer;
}

interface Drafted extends OnceRequest {
  id: string;
  draft: Answer;
}

/**
 * The answer is kept in the statement that inserts the job, which decides some of what the answer shows. So the answer is
 * written with these marks in their places. Nobody else knows them: no text of a user contains one.
 */
const secret = randomUUID();
const MARKS = { state: `state ${secret}`, run_at: `run_at ${secret}`, created_at: `created_at ${secret}` };

const filledIn = ({ body, ...rest }: Answer, { state, run_at, created_at }: Decided): Answer => ({
  ...rest,
  body: body.replace(MARKS.state, state).replace(MARKS.run_at, run_at).replace(MARKS.created_at, created_at),
});

const byId = (a: Drafted, b: Drafted) => (a.id < b.id ? -1 : 1);

/**
 * Enqueues the jobs of requests with Idempotency-Keys, in round trips of their queue that wait only for a short time. The
 * result is undefined for a request whose key has an answer already. @throws QueueGone when the queue was deleted
 */
export function createOnceBatcher(context: {
  joinRoundTrip: JoinRoundTrip;
  arrivals: Arrivals;
  newId: (queueId: number) => string;
  inserted: (jobs: Job[]) => void;
}) {
  const { joinRoundTrip, arrivals, newId, inserted } = context;

  const batched = createBatcher<Drafted, OnceResult | undefined>({
    joinRoundTrip,
    weigh: ({ job }) => weigh([job], BATCH_ROWS),
    maxWeight: 1,
    async run(queueId, items, trip) {
      const asked = items.toSorted(byId);
      const parameters = {
        queue_id: queueId,
        ...newJobParameters(
          asked.map(({ id }) => id),
          asked.map(({ job }) => job),
        ),
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
      const rows = await arrivals.watch(
        () => [queueId],
        () => (trip as NonNullable<typeof trip>).db.query(statement, parameters),
      );
      if (rows.length === 0) throw new QueueGone();
      const found = new Map(rows.map((row) => [row.id, row]));
      const results = items.map(({ id, job, draft }) => {
        const decided = (found.get(id) ?? found.get(null)) as Decided | PassedOver;
        if (decided.state === null) return undefined;
        return { inserted: [toJob(job, id, decided)], answer: filledIn(draft, decided) };
      });
      inserted(results.flatMap((result) => result?.inserted ?? []));
      return results;
    },
  });

  return async (asked: OnceRequest): Promise<OnceResult | undefined> => {
    const { job, answerOf } = asked;
    const id = newId(job.queue.id);
    const draft = await answerOf([toJob(job, id, { ...MARKS, state: MARKS.state as JobState })]);
    return batched(job.queue.id, { ...asked, id, draft });
  };
}

export type OnceBatcher = ReturnType<typeof createOnceBatcher>;
