import { MOST_HEADERS } from './job.ts';

/** Where a request or a job belongs in a trace (W3C Trace Context), as headers carry it. */
export interface Trace {
  traceparent: string;
  tracestate?: string | undefined;
}

/** What a `traceparent` says. */
export interface TraceIds {
  traceId: string;
  spanId: string;
  flags: number;
}

const IDS = '-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})';
/** Later versions may add parts. */
const TRACEPARENT = new RegExp(`^(?:00${IDS}|(?!00|ff)[0-9a-f]{2}${IDS}(?:-[\\x21-\\x7e]{0,100})?)$`);
const TRACESTATE = /^[\x20-\x7e]{1,512}$/;

export function idsOf(traceparent: unknown): TraceIds | undefined {
  if (typeof traceparent !== 'string') return undefined;
  const match = TRACEPARENT.exec(traceparent);
  if (!match) return undefined;
  const [, traceId = match[4], spanId = match[5], flags = match[6]] = match;
  return {
    traceId: traceId as string,
    spanId: spanId as string,
    flags: Number.parseInt(flags as string, 16),
  };
}

/** The trace that headers name, of a request or of a job. Undefined when they name none. */
export function traceIn({ traceparent, tracestate }: Record<string, unknown>): Trace | undefined {
  if (traceparent === undefined || !idsOf(traceparent)) return undefined;
  const trace: Trace = { traceparent: traceparent as string };
  if (typeof tracestate === 'string' && TRACESTATE.test(tracestate)) trace.tracestate = tracestate;
  return trace;
}

/** The trace in the text of a job's headers. */
export const traceInText = (headers: string): Trace | undefined =>
  headers.includes('"traceparent"') ? traceIn(JSON.parse(headers)) : undefined;

/** Whether the sender of a job wrote a `traceparent` or `tracestate`, valid or not. */
export const namesTrace = (headers: Record<string, string>): boolean =>
  Object.keys(headers).some((name) => /^trace(parent|state)$/i.test(name));

/** The headers of a job as text, with its trace: where its sender named none, and there is room for it. */
export function headersWith(headers: Record<string, string>, { traceparent, tracestate }: Trace): string {
  const count = Object.keys(headers).length + (tracestate === undefined ? 1 : 2);
  if (count > MOST_HEADERS || namesTrace(headers)) return JSON.stringify(headers);
  // Undefined members are left out.
  return JSON.stringify({ ...headers, traceparent, tracestate });
}
