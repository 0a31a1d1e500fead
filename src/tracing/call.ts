import { type Context, context, type SpanContext, trace } from '@opentelemetry/api';
import { type Asker, askers, type Ran, runFor } from '../askers.ts';
import { contextOf, spanContextOf } from './spans.ts';

/** A claim that waits looks at its queues often. Its span has its last statements. */
const MOST_STATEMENTS = 50;

/** A call of a verb, while it runs. */
export interface Call {
  began: number;
  statements: Ran[];
  /** Where its request belongs. Undefined: in no trace. */
  parent: Context | undefined;
}

/** The result of a call, or its error. */
export interface Outcome<Result> {
  ended: number;
  result?: Result;
  error?: unknown;
}

export type Run<Result = unknown> = () => Promise<Result>;

/** A span that is active in this process comes first: somebody else traces the request as well. */
function parentOf(caller: Asker | undefined): Context | undefined {
  const active = context.active();
  if (trace.getSpan(active)) return active;
  const remote = caller?.trace && spanContextOf(caller.trace);
  return remote && contextOf(remote);
}

export const newCall = (): Call => ({
  began: performance.now(),
  statements: [],
  parent: parentOf(askers()[0]),
});

/** Whether a job belongs to the trace of the request: then the span of the request is enough. */
export const isOfCaller = ({ traceId }: SpanContext, { parent }: Call): boolean =>
  parent !== undefined && trace.getSpanContext(parent)?.traceId === traceId;

/** Runs a verb, and gathers its statements. */
export async function observe<Result>(run: Run<Result>, { statements }: Call): Promise<Outcome<Result>> {
  const [caller = { reqId: undefined, trace: undefined, traceId: undefined }] = askers();
  const ran = (statement: Ran) => {
    if (statements.length === MOST_STATEMENTS) statements.shift();
    statements.push(statement);
  };
  try {
    const result = await runFor([{ ...caller, ran }], run);
    return { result, ended: performance.now() };
  } catch (error) {
    return { error, ended: performance.now() };
  }
}
