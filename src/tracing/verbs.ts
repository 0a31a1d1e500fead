import { trace } from '@opentelemetry/api';
import type { Around, Concern } from '../concerns.ts';
import type { BatchName } from '../verbs/batches.ts';
import type { RequestOf, VerbName } from '../verbs.ts';
import { version } from '../version.ts';
import { type BatchTraces, createBatchLinks } from './batchLinks.ts';
import { type Call, newCall, type Outcome, observe, type Run } from './call.ts';
import { createLeaseTraces } from './leaseTraces.ts';
import { createReceive } from './receive.ts';
import { createSend } from './send.ts';
import { createSettle } from './settle.ts';
import { createSpans } from './spans.ts';

/** Runs a verb with its spans around it. */
type Traced<Request = unknown> = (run: Run, request: Request, call: Call) => Promise<Outcome<unknown>>;

/** Their spans name the batch, and link to the span that created it. */
const CHANGE_BATCHES = ['closeBatch', 'cancelBatch'];

/**
 * The spans of the verbs. docs/tracing.md shows what comes of it. A request and each job that it is about may belong to
 * different traces. Then each trace gets a span, and they link to each other.
 */
export function traceVerbs(batchTraces: BatchTraces): Concern {
  const spans = createSpans(trace.getTracer('dibs', version));
  const leases = createLeaseTraces();
  const batchLinks = createBatchLinks(batchTraces);
  const { send, createBatch, trigger } = createSend(spans, batchLinks);
  const traced: { [V in VerbName]?: Traced<RequestOf<V>> } = {
    enqueue: send,
    enqueueOnce: send,
    createBatch,
    triggerSchedule: trigger,
    claim: createReceive(spans, leases),
    ...createSettle(spans, leases, batchLinks),
  };

  /** A verb that is about no message has a span only in the trace of its request: nobody wants one for each scrape. */
  const other =
    (verb: string): Traced =>
    async (run, request, call) => {
      if (!call.parent) return observe(run, call);
      const batches = CHANGE_BATCHES.includes(verb) ? [(request as BatchName).id] : [];
      const span = spans.start({ verb, queues: [], batches }, call.began, call.parent);
      const [outcome, link] = await Promise.all([observe(run, call), batchLinks.find(batches)]);
      link(span, batches[0]);
      spans.end(span, { ...outcome, statements: call.statements });
      return outcome;
    };

  return (verb): Around => {
    const around = (traced[verb] as Traced | undefined) ?? other(verb);
    return async (run, request) => {
      const { result, error } = await around(run, request, newCall());
      if (error !== undefined) throw error;
      return result;
    };
  };
}
