import { traceInText } from '../traceparent.ts';
import type { LeasedJob } from '../verbs/claims.ts';
import { type Call, isOfCaller, observe, type Run } from './call.ts';
import type { LeaseTraces } from './leaseTraces.ts';
import { contextOf, linksTo, type Spans, spanContextOf } from './spans.ts';

function traceOfJob({ headers }: LeasedJob) {
  const found = traceInText(headers);
  return found && spanContextOf(found);
}

/** When the statement began that leased jobs: the wait before is not part of it. */
const leasedSince = ({ statements, began }: Call): number =>
  statements.find(({ name, rows }) => name.startsWith('claim/') && rows > 0)?.began ?? began;

/**
 * The spans of claims. The span of the request covers its whole wait. Each job that belongs to another trace has a span
 * there, from the statement on that leased it. A claim of nobody's trace that gets nothing leaves no span.
 */
export const createReceive =
  (spans: Spans, leases: LeaseTraces) =>
  async (run: Run, request: { queues?: string[]; worker?: string }, call: Call) => {
    const { began, parent, statements } = call;
    const outcome = await observe(run, call);
    const jobs = (outcome.result ?? []) as LeasedJob[];
    const traces = jobs.map(traceOfJob);
    const message = { type: 'receive', verb: 'claim', worker: request.worker } as const;
    const queues = jobs.length > 0 ? jobs.map(({ queue }) => queue) : (request.queues ?? ['default']);
    const own =
      parent &&
      spans.start(
        { ...message, queues, batches: jobs.map(({ batch }) => batch), count: jobs.length },
        began,
        parent,
        linksTo(traces),
      );
    if (own) spans.end(own, { ...outcome, statements });
    const since = leasedSince(call);
    const leasing = statements.filter((ran) => ran.began >= since);
    const links = linksTo([own?.spanContext()]);
    for (const [i, { id, queue, attempt, batch }] of jobs.entries()) {
      const created = traces[i];
      if (!created) continue;
      leases.note(id, { context: created, queue, batch });
      if (isOfCaller(created, call)) continue;
      const span = spans.start(
        { ...message, queues: [queue], batches: [batch], id },
        since,
        contextOf(created),
        links,
      );
      span.setAttribute('dibs.job.attempt', attempt);
      spans.end(span, { ...outcome, statements: leasing });
    }
    return outcome;
  };
