import {
  type Context,
  createTraceState,
  type Link,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import type { Ran } from '../askers.ts';
import { isOutage, Refusal } from '../errors.ts';
import { idsOf, type Trace } from '../traceparent.ts';
import {
  attributesOf,
  batchAttributes,
  KINDS,
  type Message,
  nameOf,
  STATEMENT,
  statementAttributes,
} from './semantics.ts';

/** A span has at most this number of links by default. */
const MOST_LINKS = 128;

export function spanContextOf({ traceparent, tracestate }: Trace): SpanContext | undefined {
  const ids = idsOf(traceparent);
  if (!ids) return undefined;
  const { traceId, spanId, flags } = ids;
  const traceState = tracestate === undefined ? {} : { traceState: createTraceState(tracestate) };
  return { traceId, spanId, traceFlags: flags, isRemote: true, ...traceState };
}

export const contextOf = (context: SpanContext): Context => trace.setSpanContext(ROOT_CONTEXT, context);

/** A span as headers carry it. */
export function traceOf(span: Span): Trace {
  const { traceId, spanId, traceFlags, traceState } = span.spanContext();
  const flags = (traceFlags & 0xff).toString(16).padStart(2, '0');
  const tracestate = traceState?.serialize() || undefined;
  return { traceparent: `00-${traceId}-${spanId}-${flags}`, tracestate };
}

export const linksTo = (contexts: (SpanContext | undefined)[]): Link[] =>
  contexts.flatMap((context) => (context ? [{ context }] : [])).slice(0, MOST_LINKS);

/** What a span tells when it ends. */
export interface End {
  ended: number;
  statements: Ran[];
  error?: unknown;
}

function fail(span: Span, error: unknown): void {
  const { code, name } = error as { code?: string; name?: string };
  span.setAttribute('error.type', code ?? name ?? '_OTHER');
  // The request is not the reason. The status has no message, because that of an error may quote data.
  if (!(error instanceof Refusal) || isOutage(error)) span.setStatus({ code: SpanStatusCode.ERROR });
}

export function createSpans(tracer: Tracer) {
  return {
    start: (message: Message, began: number, parent: Context, links: Link[] = []): Span =>
      tracer.startSpan(
        nameOf(message),
        {
          kind: KINDS[message.type ?? 'other'],
          startTime: began,
          attributes: message.type ? attributesOf(message) : batchAttributes(message),
          links,
        },
        parent,
      ),

    /** Names the queue and the job of a span, when they are known. */
    name(span: Span, verb: string, queue: string | undefined, id?: string): void {
      const message = { verb, queues: [queue], id };
      span.updateName(nameOf(message)).setAttributes(attributesOf(message));
    },

    /** Ends a span. The statements that ran for it become its children. */
    end(span: Span, { ended, statements, error }: End): void {
      if (error !== undefined) fail(span, error);
      if (span.isRecording()) {
        const parent = trace.setSpan(ROOT_CONTEXT, span);
        for (const ran of statements)
          tracer
            .startSpan(
              ran.name,
              { kind: STATEMENT, startTime: ran.began, attributes: statementAttributes(ran) },
              parent,
            )
            .setStatus({ code: ran.failed ? SpanStatusCode.ERROR : SpanStatusCode.UNSET })
            .end(ran.ended);
      }
      span.end(ended);
    },
  };
}

export type Spans = ReturnType<typeof createSpans>;
