import { type Context, ROOT_CONTEXT, type Span, trace } from '@opentelemetry/api';
import type { Job } from '../job.ts';
import { namesTrace, traceIn } from '../traceparent.ts';
import type { CreatedBatch, NewBatch } from '../verbs/batches.ts';
import type { NewJob, Once } from '../verbs/enqueue.ts';
import type { BatchLinks, LinkToBatch } from './batchLinks.ts';
import { type Call, type Outcome, observe, type Run } from './call.ts';
import { BATCH_ID, only } from './semantics.ts';
import { linksTo, type Spans, spanContextOf, traceOf } from './spans.ts';

const queueOf = ({ queue = 'default' }: NewJob) => queue;
export const batchesOf = (jobs: NewJob[]) => jobs.map(({ batch }) => batch);

type Created = (Span | undefined)[];

/** The trace that the sender wrote into the headers of a job. Dibs leaves it there. */
function sentTrace({ headers = {} }: NewJob) {
  const sent = traceIn(headers);
  return sent && spanContextOf(sent);
}

/** A span for each new job that was sent without a trace. Its context goes with the job. */
export function createAll(spans: Spans, jobs: NewJob[], { began }: Call, parent: Context): Created {
  return jobs.map((job) => {
    if (namesTrace(job.headers ?? {})) return undefined;
    const message = { type: 'create', verb: 'create', queues: [queueOf(job)], batches: [job.batch] } as const;
    const span = spans.start(message, began, parent);
    job.trace = traceOf(span);
    return span;
  });
}

/** Ends the spans of new jobs. A span that does not end is not exported: there is no such job. */
export function endCreated(created: Created, jobs: (Job | undefined)[], ended: number): void {
  for (const [i, job] of jobs.entries())
    if (job) created[i]?.setAttribute('messaging.message.id', job.id).end(ended);
}

/** Links the spans of new jobs to those that created their batches. For jobs without one, the span of the request is linked. */
export function linkCreated(link: LinkToBatch, jobs: NewJob[], created: Created, own?: Span): void {
  for (const [i, { batch }] of jobs.entries()) link(created[i], batch);
  for (const batch of new Set(jobs.map(({ batch }, i) => (created[i] ? undefined : batch)))) link(own, batch);
}

/**
 * The spans of enqueues. A job that is alone takes the trace of the span along. Each of several jobs has a span of its
 * own.
 */
export function createSend(spans: Spans, batchLinks: BatchLinks) {
  async function sendOne(run: Run, job: NewJob, queues: string[], call: Call): Promise<Outcome<unknown>> {
    const batches = batchesOf([job]);
    const span = spans.start(
      { type: 'send', verb: 'enqueue', queues, batches },
      call.began,
      call.parent ?? ROOT_CONTEXT,
      linksTo([sentTrace(job)]),
    );
    job.trace = traceOf(span);
    const [outcome, link] = await Promise.all([observe(run, call), batchLinks.find(batches)]);
    link(span, job.batch);
    // With an idempotency key, the result may be of an earlier request.
    const [inserted] = [outcome.result].flat() as Partial<Job>[];
    if (inserted?.id !== undefined) spans.name(span, 'enqueue', inserted.queue, inserted.id);
    spans.end(span, { ...outcome, statements: call.statements });
    return outcome;
  }

  /** The span of a request with several jobs. */
  const startMany = (verb: string, jobs: NewJob[], queues: string[], { began, parent }: Call): Span =>
    spans.start(
      { type: 'sendMany', verb, queues, batches: batchesOf(jobs), count: jobs.length },
      began,
      parent ?? ROOT_CONTEXT,
      linksTo(jobs.map(sentTrace)),
    );

  /** Runs it with a span for each job below the span of the request. `told` ends those of the jobs that are there. */
  async function observeMany<Result>(
    { run, jobs, span }: { run: Run; jobs: NewJob[]; span: Span },
    call: Call,
    told: (result: Result, created: Created, ended: number) => void,
  ): Promise<Outcome<unknown>> {
    const created = createAll(spans, jobs, call, trace.setSpan(ROOT_CONTEXT, span));
    const [outcome, link] = await Promise.all([observe(run, call), batchLinks.find(batchesOf(jobs))]);
    linkCreated(link, jobs, created, span);
    const { result, ended } = outcome;
    if (result) told(result as Result, created, ended);
    spans.end(span, { ...outcome, statements: call.statements });
    return outcome;
  }

  function sendMany(run: Run, jobs: NewJob[], call: Call): Promise<Outcome<unknown>> {
    const span = startMany('enqueue', jobs, jobs.map(queueOf), call);
    return observeMany<Job[] | Once>({ run, jobs, span }, call, (inserted, created, ended) => {
      if (Array.isArray(inserted)) endCreated(created, inserted, ended);
      else if (!inserted.replayed) for (const one of created) one?.end(ended);
    });
  }

  return {
    send: (run: Run, { jobs }: { jobs: NewJob[] }, call: Call) =>
      jobs.length === 1
        ? sendOne(run, jobs[0] as NewJob, [only(jobs.map(queueOf)) as string], call)
        : sendMany(run, jobs, call),

    /**
     * A batch. Its followers have spans, too: whenever they are enqueued, their claims are in the trace of the request that has
     * created the batch.
     */
    createBatch(run: Run, request: NewBatch, call: Call) {
      const { queue, jobs, on_success, on_end } = request;
      const all = [...jobs, on_success, on_end].filter((job) => job !== undefined);
      const span = startMany('createBatch', all, [queue, ...all.map(queueOf)], call);
      request.trace = traceOf(span);
      return observeMany<CreatedBatch>({ run, jobs: all, span }, call, ({ id, replayed }, created, ended) => {
        span.setAttribute(BATCH_ID, id);
        if (replayed) return;
        batchLinks.note(id, span.spanContext());
        for (const one of created.slice(0, jobs.length)) one?.setAttribute(BATCH_ID, id);
        for (const one of created) one?.end(ended);
      });
    },

    /** The job of a schedule: its queue is known when it is enqueued. */
    trigger: (run: Run, request: Pick<NewJob, 'trace'>, call: Call) => sendOne(run, request, [], call),
  };
}
