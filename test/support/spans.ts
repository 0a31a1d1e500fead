import { SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import { keepAskers } from '../../src/askers.ts';

export interface Told {
  id: string;
  kind: string;
  name: string;
  service: string;
  attributes: Record<string, unknown>;
  failed: boolean;
  links: string[];
  children: Told[];
}

/** Spans that go together begin in any order. So they are sorted by name, and those of one name by their start. */
const byNameThenStart = (a: ReadableSpan, b: ReadableSpan): number =>
  (a.name < b.name ? -1 : Number(a.name > b.name)) ||
  a.startTime[0] - b.startTime[0] ||
  a.startTime[1] - b.startTime[1];

/** A collector in this process. What starts after it is traced. */
export function collectSpans() {
  const exporter = new InMemorySpanExporter();
  trace.setGlobalTracerProvider(
    new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }),
  );
  keepAskers();

  const spansOf = (traceId: string) =>
    exporter
      .getFinishedSpans()
      .filter((span) => span.spanContext().traceId === traceId)
      .sort(byNameThenStart);

  function told(span: ReadableSpan, all: ReadableSpan[]): Told {
    const { spanId } = span.spanContext();
    return {
      id: spanId,
      kind: SpanKind[span.kind],
      name: span.name,
      service: span.instrumentationScope.name,
      attributes: span.attributes,
      failed: span.status.code === SpanStatusCode.ERROR,
      links: span.links.map(({ context }) => context.spanId),
      children: all.filter((one) => one.parentSpanContext?.spanId === spanId).map((one) => told(one, all)),
    };
  }

  return {
    exporter,

    /** The trees of a trace. In a whole trace it is one. Siblings stand in the order of their names. */
    treesOf(traceId: string): Told[] {
      const all = spansOf(traceId);
      const ids = new Set(all.map((span) => span.spanContext().spanId));
      return all
        .filter(({ parentSpanContext }) => !parentSpanContext || !ids.has(parentSpanContext.spanId))
        .map((span) => told(span, all));
    },
  };
}

/** A tree as lines: two spaces for each step down, the kind and the name. */
export const linesOf = (trees: Told[], depth = 0): string[] =>
  trees.flatMap(({ kind, name, children }) => [
    `${'  '.repeat(depth)}${kind} ${name}`,
    ...linesOf(children, depth + 1),
  ]);
