import { trace } from '@opentelemetry/api';
import type { Around, Concern } from '../concerns.ts';
import type { RequestOf, VerbName } from '../verbs.ts';
import { version } from '../version.ts';
import { type Call, newCall, type Outcome, observe, type Run } from './call.ts';
import { createLeaseTraces } from './leaseTraces.ts';
import { createReceive } from './receive.ts';
import { createSend } from './send.ts';
import { createSettle } from './settle.ts';
import { createSpans } from './spans.ts';

/** Runs a verb with its spans around it. */
type Traced<Request = unknown> = (run: Run, request: Request, call: Call) => Promise<Outcome<unknown>>;

/**
 * The spans of the verbs. docs/tracing.md shows what comes of it. A request and each job that it is about may belong to
 * different traces. Then each trace gets a span, and they link to each other.
 */
export function traceVerbs(): Concern {
  const spans = createSpans(trace.getTracer('dibs', version));
  const leases = createLeaseTraces();
  const { send, createBatch, trigger } = createSend(spans);
  const traced: { [V in VerbName]?: Traced<RequestOf<V>> } = {
    enqueue: send,
    enqueueOnce: send,
    createBatch,
    triggerSchedule: trigger,
    claim: createReceive(spans, leases),
    ...createSettle(spans, leases),
  };

  /** A verb that is about no message has a span only in the trace of its request: nobody wants one for each scrape. */
  const other =
    (verb: string): Traced =>
    async (run, _, call) => {
      if (!call.parent) return observe(run, call);
      const span = spans.start({ verb, queues: [] }, call.began, call.parent);
      const outcome = await observe(run, call);
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
