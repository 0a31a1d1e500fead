import { type Context, ROOT_CONTEXT, type Span, trace } from '@opentelemetry/api';
import type { Job } from '../job.ts';
import { namesTrace, traceIn } from '../traceparent.ts';
import type { NewBatch } from '../verbs/batches.ts';
import type { NewJob } from '../verbs/enqueue.ts';
import { type Call, type Outcome, observe, type Run } from './call.ts';
import { onlyQueue } from './semantics.ts';
import { linksTo, type Spans, spanContextOf, traceOf } from './spans.ts';

const queueOf = ({ queue = 'default' }: NewJob) => queue;

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
    const span = spans.start({ type: 'create', verb: 'create', queues: [queueOf(job)] }, began, parent);
    job.trace = traceOf(span);
    return span;
  });
}

/** Ends the spans of new jobs. A span that does not end is not exported: there is no such job. */
export function endCreated(created: Created, jobs: (Job | undefined)[], ended: number): void {
  for (const [i, job] of jobs.entries())
    if (job) created[i]?.setAttribute('messaging.message.id', job.id).end(ended);
}

/**
 * The spans of enqueues. A job that is alone takes the trace of the span along. Each of several jobs has a span of its
 * own.
 */
export function createSend(spans: Spans) {
  async function sendOne(run: Run, job: NewJob, queues: string[], call: Call): Promise<Outcome<unknown>> {
    const span = spans.start(
      { type: 'send', verb: 'enqueue', queues },
      call.began,
      call.parent ?? ROOT_CONTEXT,
      linksTo([sentTrace(job)]),
    );
    job.trace = traceOf(span);
    const outcome = await observe(run, call);
    // With an idempotency key, the result may be of an earlier request.
    const [inserted] = [outcome.result].flat() as Partial<Job>[];
    if (inserted?.id !== undefined) spans.name(span, 'enqueue', inserted.queue, inserted.id);
    spans.end(span, { ...outcome, statements: call.statements });
    return outcome;
  }

  async function sendMany(
    run: Run,
    { verb, jobs, queues }: { verb: string; jobs: NewJob[]; queues: string[] },
    call: Call,
  ): Promise<Outcome<unknown>> {
    const message = { type: 'sendMany', verb, queues, count: jobs.length } as const;
    const links = linksTo(jobs.map(sentTrace));
    const span = spans.start(message, call.began, call.parent ?? ROOT_CONTEXT, links);
    const created = createAll(spans, jobs, call, trace.setSpan(ROOT_CONTEXT, span));
    const outcome = await observe(run, call);
    const { result, ended } = outcome;
    if (Array.isArray(result)) endCreated(created, result, ended);
    else if (result && !(result as { replayed?: boolean }).replayed)
      for (const one of created) one?.end(ended);
    spans.end(span, { ...outcome, statements: call.statements });
    return outcome;
  }

  return {
    send: (run: Run, { jobs }: { jobs: NewJob[] }, call: Call) =>
      jobs.length === 1
        ? sendOne(run, jobs[0] as NewJob, [onlyQueue(jobs.map(queueOf)) as string], call)
        : sendMany(run, { verb: 'enqueue', jobs, queues: jobs.map(queueOf) }, call),

    /**
     * A batch. Its followers have spans, too: whenever they are enqueued, their claims are in the trace of the request that has
     * created the batch.
     */
    createBatch(run: Run, request: NewBatch, call: Call) {
      const { queue, jobs, on_success, on_end } = request;
      const all = [...jobs, on_success, on_end].filter((job) => job !== undefined);
      return sendMany(run, { verb: 'createBatch', jobs: all, queues: [queue, ...all.map(queueOf)] }, call);
    },

    /** The job of a schedule: its queue is known when it is enqueued. */
    trigger: (run: Run, request: Pick<NewJob, 'trace'>, call: Call) => sendOne(run, request, [], call),
  };
}
