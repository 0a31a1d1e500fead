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
beforeEach(async () => {
  queue = `q${++number}`;
  // The statements that create queues would be in the trees.
  for (const name of [queue, `${queue}.bill`]) await enqueue({ queue: name, expires_in_seconds: 0.001 });
  for (const name of [queue, `${queue}.bill`])
    await service.call('POST', `/queues/${name}/purge`, { states: ['ready', 'dead'] });
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
  const { body } = await service.call('POST', '/jobs/claim', { queues: [name], worker: 'w1' }, headers);
  expect(body.jobs).toHaveLength(1);
  return body.jobs[0];
}

const find = (trees: Told[], name: string): Told[] =>
  trees.flatMap((one) => [...(one.name === name ? [one] : []), ...find(one.children, name)]);

/** Without commits, and without what a replica does now and then: look-ups of queues, and a word to the others that it rests no more. */
const withoutLookUps = (trees: Told[]): Told[] =>
  trees
    .filter(({ name }) => !/^(commit|queues\/by_(names|ids)|replicas\/notify)$/.test(name))
    .map((one) => ({ ...one, children: withoutLookUps(one.children) }));

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

  const lines = linesOf(withoutLookUps(spans.treesOf(idOf(producer.span))));
  expect(lines.map((line) => line.replaceAll(queue, 'mail'))).toEqual([
    'CLIENT order',
    '  PRODUCER enqueue mail',
    '    CLIENT claim mail',
    '      CLIENT claim/one',
    '    CLIENT claim mail',
    '      CLIENT claim/one',
    '    CLIENT enqueue/insert_one',
    '    CONSUMER process mail',
    '      CLIENT nack mail',
    '        CLIENT queues/positions',
    '        CLIENT settle/nack',
    '    CONSUMER process mail',
    '      CLIENT ack mail',
    '        PRODUCER create mail.bill',
    '          CLIENT claim mail.bill',
    '            CLIENT claim/one',
    '          CONSUMER process bill',
    '            CLIENT ack mail.bill',
    '              CLIENT settle/ack',
    '        CLIENT settle/ack_with_follow_ups',
  ]);
});

test('spans and statements have the attributes of the conventions', async () => {
  const producer = begin('order', SpanKind.CLIENT);
  const { body: job } = await enqueue({ payload: { secret: 'x' } }, producer.headers);
  await claim();
  const trees = spans.treesOf(idOf(producer.span));
  const [sent] = find(trees, `enqueue ${queue}`);
  expect(sent).toMatchObject({
    kind: 'PRODUCER',
    service: 'dibs',
    failed: false,
    attributes: {
      'messaging.system': 'dibs',
      'messaging.operation.name': 'enqueue',
      'messaging.operation.type': 'send',
      'messaging.destination.name': queue,
      'messaging.message.id': job.id,
    },
  });
  expect(find(trees, `claim ${queue}`)[0]?.attributes).toMatchObject({
    'messaging.operation.type': 'receive',
    'messaging.client.id': 'w1',
    'messaging.message.id': job.id,
    'dibs.job.attempt': 1,
  });
  const [statement] = find(trees, 'claim/one');
  expect(statement?.attributes).toMatchObject({
    'db.system.name': 'postgresql',
    'db.query.summary': 'claim/one',
    'db.response.returned_rows': 1,
  });
  expect(JSON.stringify(trees)).not.toContain('secret');
});

test('each of several jobs has a span of its own, from which its trace goes on', async () => {
  const producer = begin('orders', SpanKind.CLIENT);
  const jobs = [{ queue }, { queue: `${queue}.bill` }, { queue, headers: { traceparent: 'mine' } }];
  await service.call('POST', '/jobs/batch', { jobs }, producer.headers);
  const [first, bill] = [await claim(), await claim(`${queue}.bill`)];
  const trees = spans.treesOf(idOf(producer.span));
  const [batch] = find(trees, 'enqueue');
  expect(batch).toMatchObject({ kind: 'CLIENT', attributes: { 'messaging.batch.message_count': 3 } });
  const created = batch?.children.filter(({ kind }) => kind === 'PRODUCER') ?? [];
  expect(created.map(({ name, children }) => [name, children.map((one) => one.name)])).toEqual([
    [`create ${queue}`, [`claim ${queue}`]],
    [`create ${queue}.bill`, [`claim ${queue}.bill`]],
  ]);
  expect(first.headers.traceparent).not.toBe(bill.headers.traceparent);
});

test('the followers of a batch are in the trace of the request that created it, beside its jobs', async () => {
  const producer = begin('pages', SpanKind.CLIENT);
  const [after, none] = [`${queue}.bill`, `${queue}.none`];
  await service.call('POST', '/batches', { queue: none });
  const batch = {
    queue,
    jobs: [{ queue }],
    closed: true,
    on_success: { queue: after },
    on_end: { queue: none },
  };
  const key = { 'idempotency-key': queue };
  for (let i = 0; i < 2; i++)
    expect((await service.call('POST', '/batches', batch, { ...producer.headers, ...key })).status).toBe(201);
  producer.span.end();
  const { id, lease_token } = await claim();
  // A worker that knows nothing of traces.
  await service.call('POST', `/jobs/${id}/ack`, { lease_token });
  expect((await claim(after)).headers['dibs-batch']).toBeDefined();
  const [tree, ...others] = spans.treesOf(idOf(producer.span));
  expect(others).toEqual([]);
  // The repeat has created nothing.
  const [first, again] = find(tree?.children ?? [], 'createBatch');
  const made = ({ children }: Told) =>
    children
      .filter(({ kind }) => kind === 'PRODUCER')
      .map((one) => [one.name, one.children.map(({ name }) => name)]);
  expect(first).toMatchObject({ kind: 'CLIENT', attributes: { 'messaging.batch.message_count': 3 } });
  expect(made(first as Told)).toEqual([
    [`create ${queue}`, [`ack ${queue}`, `claim ${queue}`]],
    [`create ${after}`, [`claim ${after}`]],
    [`create ${none}`, []],
  ]);
  expect(made(again as Told)).toEqual([]);
});

test('what comes into a batch later names it, and links to the span that created it, from every replica', async () => {
  const [producer, later] = [begin('pages', SpanKind.CLIENT), begin('more pages', SpanKind.CLIENT)];
  const { body: batch } = await service.call(
    'POST',
    '/batches',
    { queue, jobs: [{ queue }] },
    producer.headers,
  );
  const created = find(spans.treesOf(idOf(producer.span)), `createBatch ${queue}`)[0] as Told;
  expect(created.attributes).toMatchObject({ 'dibs.batch.id': batch.id });
  // It has not seen the batch.
  const other = await startService({ traces: true, databaseUrl: service.databaseUrl });
  try {
    const into = { queue, batch: batch.id };
    await other.call('POST', '/jobs', into, later.headers);
    await service.call('POST', '/jobs/batch', { jobs: [into, { queue }] }, later.headers);
    await other.call('POST', '/jobs', into, { ...later.headers, 'idempotency-key': queue });
    const follower = { queue: `${queue}.outer`, on_end: { queue: `${queue}.outer`, batch: batch.id } };
    await other.call('POST', '/batches', follower, later.headers);
    const lease = await claim();
    expect(lease.batch).toBe(batch.id);
    const body = { lease_token: lease.lease_token, enqueue: [into] };
    expect((await other.call('POST', `/jobs/${lease.id}/ack`, body, later.headers)).status).toBe(200);
    expect((await service.call('POST', `/batches/${batch.id}/close`, {}, later.headers)).status).toBe(200);
  } finally {
    await other.stop();
  }
  const told = (trees: Told[]): [string, boolean][] =>
    trees.flatMap(({ name, attributes, links, children }) => [
      ...(attributes['dibs.batch.id'] === batch.id
        ? [[name, links.includes(created.id)] as [string, boolean]]
        : []),
      ...told(children),
    ]);
  expect(told(spans.treesOf(idOf(later.span)))).toEqual([
    [`create ${queue}`, true],
    ['closeBatch', true],
    [`create ${queue}.outer`, true],
    [`enqueue ${queue}`, true],
    [`create ${queue}`, true],
    [`enqueue ${queue}`, true],
  ]);
  // Its first job is in its own trace.
  expect(told(spans.treesOf(idOf(producer.span)))).toEqual([
    [`createBatch ${queue}`, false],
    [`create ${queue}`, false],
    [`claim ${queue}`, false],
  ]);
});

test('requests that share a statement have it in each of their traces', async () => {
  const producers = Array.from({ length: 20 }, (_, i) => begin(`order ${i}`, SpanKind.CLIENT));
  await Promise.all(producers.map(({ headers }) => enqueue({}, headers)));
  for (const { span } of producers) {
    const [sent, ...others] = spans.treesOf(idOf(span));
    expect(others).toEqual([]);
    expect(withoutLookUps(sent?.children ?? []).map(({ name }) => name)).toEqual([
      expect.stringMatching(/^enqueue\/insert(_one)?$/),
    ]);
    expect(sent?.children.map(({ name }) => name)).toContain('commit');
  }
});

test('of workers that know nothing of traces, acks and chained jobs are in the trace of their job', async () => {
  const producer = begin('order', SpanKind.CLIENT);
  await enqueue({}, producer.headers);
  producer.span.end();
  const { id, lease_token } = await claim();
  const chained = { queue: `${queue}.bill` };
  await service.call('POST', `/jobs/${id}/ack`, { lease_token, enqueue: [chained] });
  const bill = await claim(chained.queue);
  await service.call('POST', '/jobs/settle', { acks: [{ id: bill.id, lease_token: bill.lease_token }] });
  const [tree, ...others] = spans.treesOf(idOf(producer.span));
  expect(others).toEqual([]);
  expect(tree?.children[0]?.children.map(({ name }) => name).filter((name) => name.includes(queue))).toEqual([
    `ack ${queue}`,
    `ack ${queue}.bill`,
    `claim ${queue}`,
    `claim ${queue}.bill`,
  ]);
});

test('a worker with a trace of its own is seen there, and in the traces of its jobs, with links', async () => {
  const producer = begin('order', SpanKind.CLIENT);
  await enqueue({}, producer.headers);
  const worker = begin('poll', SpanKind.CLIENT);
  const { id, lease_token } = await claim(queue, worker.headers);
  const body = { acks: [{ id, lease_token }], claim: { queues: [queue] } };
  await service.call('POST', '/jobs/settle', body, worker.headers);
  worker.span.end();
  producer.span.end();
  const [own] = spans.treesOf(idOf(worker.span));
  expect(own?.children.map(({ name }) => name)).toEqual([
    `claim ${queue}`,
    `claim ${queue}`,
    `settle ${queue}`,
  ]);
  const [trace] = spans.treesOf(idOf(producer.span));
  const [sent] = trace?.children ?? [];
  const { links = [] } = find([trace as Told], `ack ${queue}`)[0] ?? {};
  expect(links).toHaveLength(1);
  expect(own?.children[0]?.links).toHaveLength(1);
  expect(sent?.children.map(({ name }) => name)).toContain(`ack ${queue}`);
});

test('a claim that gets nothing, and a scrape, begin no trace', async () => {
  const before = spans.exporter.getFinishedSpans().length;
  await service.call('POST', '/jobs/claim', { queues: [queue] });
  await service.call('GET', '/queues');
  expect(spans.exporter.getFinishedSpans().length).toBe(before);
});

test('a refusal names its code, and is no failure of Dibs', async () => {
  const worker = begin('late', SpanKind.CLIENT);
  const { body: job } = await enqueue({}, worker.headers);
  await service.call('POST', `/jobs/${job.id}/ack`, { lease_token: 'none' }, worker.headers);
  const [ack] = find(spans.treesOf(idOf(worker.span)), 'ack');
  expect(ack).toMatchObject({ failed: false, attributes: { 'error.type': 'lease_lost' } });
});
