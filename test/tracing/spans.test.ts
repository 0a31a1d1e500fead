import { ROOT_CONTEXT, SpanStatusCode } from '@opentelemetry/api';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import { expect, test } from 'vitest';
import { leaseLost, overloaded, unavailable } from '../../src/errors.ts';
import { createSpans } from '../../src/tracing/spans.ts';

test('a span failed when Dibs or its database is the reason, not the request', () => {
  const exporter = new InMemorySpanExporter();
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  const spans = createSpans(provider.getTracer('test'));
  const isFailed = (error: unknown) => {
    exporter.reset();
    const span = spans.start({ verb: 'getJob', queues: [] }, performance.now(), ROOT_CONTEXT);
    spans.end(span, { ended: performance.now(), statements: [], error });
    return exporter.getFinishedSpans()[0]?.status.code === SpanStatusCode.ERROR;
  };
  expect(isFailed(undefined)).toBe(false);
  expect(isFailed(leaseLost('x'))).toBe(false);
  expect(isFailed(unavailable())).toBe(true);
  expect(isFailed(overloaded())).toBe(true);
  expect(isFailed(new TypeError('a bug'))).toBe(true);
  // As PostgreSQL says it.
  expect(isFailed(Object.assign(new Error('no such table'), { code: '42P01' }))).toBe(true);
});
