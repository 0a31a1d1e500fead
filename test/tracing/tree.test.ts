import { ROOT_CONTEXT, type Span, SpanKind, trace } from '@opentelemetry/api';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { traceOf } from '../../src/tracing/spans.ts';
import { type Service, startService } from '../support/service.ts';
import { collectSpans, linesOf, type Told } from '../support/spans.ts';

const spans = collectSpans();
/** Producers and workers have tracers of their own, as their SDKs would. */
const client = trace.getTracer('client');

let service: Service;
let number = 0;
let queue: string;
beforeAll(async () => {
  service = await startService({ traces: true });
});
afterAll(() => service?.stop());
beforeEach(() => {
  queue = `q${++number}`;
});

const headersOf = (span: Span) => ({ traceparent: traceOf(span).traceparent });
const idOf = (span: Span) => span.spanContext().traceId;

/** A span of a client, with the headers that it sends. It begins a trace, or goes on with that of a lease. */
function begin(name: string, kind: SpanKind, lease?: { headers: Record<string, string> }) {
  const [, traceId, spanId] = lease?.headers.traceparent?.split('-') ?? [];
  const parent =
    traceId && spanId
      ? trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags: 1, isRemote: true })
      : ROOT_CONTEXT;
  const span = client.startSpan(name, { kind }, parent);
  return { span, headers: headersOf(span) };
}

const enqueue = (body: object, headers: Record<string, string> = {}) =>
  service.call('POST', '/jobs', { queue, ...body }, headers);

async function claim(name = queue, headers: Record<string, string> = {}) {
  const { body } = await service.call('POST', '/jobs/claim', { queues: [name] }, headers);
  expect(body.jobs).toHaveLength(1);
  return body.jobs[0];
}

const find = (trees: Told[], name: string): Told[] =>
  trees.flatMap((one) => [...(one.name === name ? [one] : []), ...find(one.children, name)]);

test('one trace shows the producer, the queue, the workers, a retry and a chained job, with each statement', async () => {
  const producer = begin('order', SpanKind.CLIENT);
  expect((await enqueue({}, producer.headers)).status).toBe(201);
  producer.span.end();

  const first = await claim();
  const failing = begin('process mail', SpanKind.CONSUMER, first);
  const nacked = await service.call(
    'POST',
    `/jobs/${first.id}/nack`,
    { lease_token: first.lease_token, delay_seconds: 0 },
    failing.headers,
  );
  expect(nacked.body.state).toBe('ready');
  failing.span.end();

  const second = await claim();
  expect(second.attempt).toBe(2);
  const working = begin('process mail', SpanKind.CONSUMER, second);
  const chained = { queue: `${queue}.bill` };
  const acked = await service.call(
    'POST',
    `/jobs/${second.id}/ack`,
    { lease_token: second.lease_token, enqueue: [chained] },
    working.headers,
  );
  expect(acked.status).toBe(200);
  working.span.end();

  const third = await claim(chained.queue);
  const last = begin('process bill', SpanKind.CONSUMER, third);
  const done = { lease_token: third.lease_token };
  expect((await service.call('POST', `/jobs/${third.id}/ack`, done, last.headers)).status).toBe(200);
  last.span.end();

  const trees = spans.treesOf(idOf(producer.span));
  expect(linesOf(trees)).toEqual([]);
});
