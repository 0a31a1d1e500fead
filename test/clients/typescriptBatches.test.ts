import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import {
  Ack,
  BatchTimeoutError,
  Client,
  ConnectionError,
  type JobSpec,
  Producer,
  Worker,
  type WorkerJob,
} from '../../clients/typescript/src/index.ts';
import { FakeDibs } from '../../clients/typescript/src/testing.ts';

const BATCH = { id: 'batch-1', state: 'open' };

interface Sent {
  call: string;
  key: string | null;
  waitSeconds: number;
}
type Answered = object | 'lost' | { refused: number; code: string; outcome?: string };

/** A producer before a Dibs that gives these answers, one after the other, the last one for all that follow. */
function answered(...answers: Answered[]) {
  const sent: Sent[] = [];
  const fetch = async (input: unknown, init: RequestInit = {}) => {
    const url = new URL(String(input));
    const answer = answers[Math.min(sent.length, answers.length - 1)] as Answered;
    sent.push({
      call: `${init.method} ${url.pathname}`,
      key: new Headers(init.headers).get('idempotency-key'),
      waitSeconds: Number(url.searchParams.get('wait_seconds')),
    });
    if (answer === 'lost') throw new Error('it broke');
    if (!('refused' in answer)) return new Response(JSON.stringify(answer));
    const { refused: status, code, outcome } = answer as { refused: number; code: string; outcome?: string };
    const problem = { type: `urn:problem-type:dibs:${code}`, code, status, detail: 'No.', outcome };
    return new Response(JSON.stringify(problem), { status });
  };
  return { sent, producer: new Producer(new Client({ fetch: fetch as typeof globalThis.fetch })) };
}

/** Works in memory until the batch has ended. */
async function work(dibs: FakeDibs, handler: (job: WorkerJob<number>) => unknown, ended: Promise<unknown>) {
  const worker = new Worker<number>(dibs.client, { queues: ['pages'], waitSeconds: 0.05 }, handler);
  const running = worker.run();
  await ended.finally(() => worker.stop());
  await running;
}

describe('with a Dibs in memory', () => {
  test('a producer makes a batch, adds, closes and waits; a handler adds; what follows comes once', async () => {
    const dibs = new FakeDibs();
    const producer = new Producer(dibs.client, { queue: 'pages', headers: () => ({ tenant: 'acme' }) });
    const batch = await producer.batch({
      ...{ queue: 'pages', name: 'issue 12', jobs: [{ payload: 1 }] },
      ...{ onSuccess: { queue: 'books' }, onEnd: { queue: 'log' } },
    });
    await batch.add({ payload: 2 });
    await batch.addAll([{ payload: 3 }, { payload: 4 }]);
    await batch.close();
    await expect(batch.add({})).rejects.toMatchObject({ code: 'batch_closed' });
    const follow = (job: WorkerJob<number>, payload: number): JobSpec => ({
      ...{ queue: 'pages', payload },
      batch: job.batch,
    });
    const ended = producer.batchById(batch.id).wait({ timeoutSeconds: 20 });
    await work(dibs, (job) => job.payload < 3 && new Ack({ enqueue: [follow(job, 5)] }), ended);
    expect(await ended).toMatchObject({ state: 'succeeded', counts: { completed: 6 } });
    expect(await batch.get()).toMatchObject({ name: 'issue 12', followers: [] });
    expect(dibs.enqueued('books')).toMatchObject([{ headers: { tenant: 'acme' } }]);
    expect(dibs.enqueued('log')).toHaveLength(1);
  });

  test('a follow-up of a job that is in no batch is in none', async () => {
    const dibs = new FakeDibs();
    const producer = new Producer(dibs.client);
    await producer.enqueue({ queue: 'pages', payload: 1 });
    const batch = await producer.batch({ queue: 'pages', jobs: [{ queue: 'pages' }], closed: true });
    await work(
      dibs,
      (job) => job.payload === 1 && new Ack({ enqueue: [{ queue: 'next', batch: job.batch }] }),
      batch.wait(),
    );
    expect(dibs.enqueued('next')).toMatchObject([{ batch: null }]);
  });

  test('a job whose follow-up is for a closed batch is dead, and says why', async () => {
    const dibs = new FakeDibs();
    const producer = new Producer(dibs.client);
    const { id: closed } = await producer.batch({ queue: 'pages', closed: true });
    const batch = await producer.batch({ queue: 'pages', jobs: [{ queue: 'pages' }], closed: true });
    await work(dibs, () => new Ack({ enqueue: [{ batch: closed }] }), batch.wait());
    expect(await batch.get()).toMatchObject({ state: 'ended', counts: { dead: 1 } });
    expect(dibs.jobs[0]?.error).toMatch(/the ack was refused: .*batch_closed/);
  });

  test('a batch that is cancelled has ended, and nothing follows', async () => {
    const dibs = new FakeDibs();
    const batch = await new Producer(dibs.client).batch({ queue: 'pages', jobs: [{}], onEnd: {} });
    expect(await batch.cancel()).toMatchObject({ state: 'ended', counts: { cancelled: 1 }, followers: [] });
    expect(await batch.wait()).toMatchObject({ state: 'ended' });
    expect(dibs.jobs).toHaveLength(1);
  });
});

describe('a new batch', () => {
  test('is asked for again where Dibs says that it was not made', async () => {
    const again = { refused: 503, code: 'unavailable', outcome: 'not_done' };
    const { producer, sent } = answered(again, { refused: 429, code: 'queue_full' }, BATCH);
    expect((await producer.batch({ queue: 'q' })).id).toBe('batch-1');
    expect(sent).toHaveLength(3);
  });

  test.each<[string, Answered]>([
    ['is lost', 'lost'],
    ['is not of Dibs', { status: 'ok' }],
    ['says that it may be there', { refused: 503, code: 'unavailable', outcome: 'unknown' }],
    ['says that Dibs failed', { refused: 500, code: 'internal' }],
  ])('is asked for again, with its Idempotency-Key, when the answer %s', async (_, answer) => {
    const { producer, sent } = answered(answer, BATCH);
    expect((await producer.batch({ queue: 'q' })).id).toBe('batch-1');
    expect(sent).toHaveLength(2);
    expect(sent[0]?.key).toBeTruthy();
    expect(sent[1]?.key).toBe(sent[0]?.key);
  });
});

test('an add is repeated with its Idempotency-Key', async () => {
  const { producer, sent } = answered('lost', { id: 'job-1' });
  await producer.batchById('b').add({});
  expect(sent.map(({ key }) => key)).toEqual([sent[0]?.key, sent[0]?.key]);
  expect(sent[0]?.key).toMatch(/^[\da-f-]{36}$/);
});

describe('a close', () => {
  test('whose answer was lost has closed the batch', async () => {
    const { producer, sent } = answered('lost', { refused: 409, code: 'batch_closed' });
    await producer.batchById('b/c').close();
    expect(sent.map(({ call }) => call)).toEqual(Array(2).fill('POST /batches/b%2Fc/close'));
  });

  test('of the id .. asks for that id, and for nothing that a URL makes of it', async () => {
    const { producer, sent } = answered({ refused: 404, code: 'batch_not_found' });
    await expect(producer.batchById('..').close()).rejects.toMatchObject({ code: 'batch_not_found' });
    expect(sent.map(({ call }) => call)).toEqual(['POST /batches/%252E%252E/close']);
  });

  test('of a closed batch is refused', async () => {
    const { producer } = answered({ refused: 409, code: 'batch_closed' });
    await expect(producer.batchById('b').close()).rejects.toMatchObject({ code: 'batch_closed' });
  });
});

describe('a wait', () => {
  test('goes on until the batch has ended, through failures that pass', async () => {
    const { producer, sent } = answered(
      BATCH,
      'lost',
      { ...BATCH, state: 'running' },
      { id: 'b', state: 'ended' },
    );
    expect(await producer.batchById('b').wait()).toEqual({ id: 'b', state: 'ended' });
    expect(sent.map(({ waitSeconds }) => waitSeconds)).toEqual([20, 20, 20, 20]);
  });

  test('has an end, and then says how the batch is', async () => {
    const { producer, sent } = answered(BATCH);
    const failure = await producer
      .batchById('b')
      .wait({ timeoutSeconds: 0.2 })
      .catch((error) => error);
    expect(failure).toBeInstanceOf(BatchTimeoutError);
    expect(failure).toMatchObject({ code: 'timeout', batch: BATCH });
    expect(failure.message).toMatch(/batch b has not ended within 0.2 s: it is open/);
    // A Dibs that answers at once is not asked without rest.
    expect(sent.length).toBeLessThan(20);
  });

  describe('in an outage', () => {
    beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }));
    afterEach(() => void vi.useRealTimers());

    /** How it fails. */
    async function failureOf(timeoutSeconds: number, ...answers: Answered[]) {
      const { producer } = answered(...answers, 'lost');
      const failure = producer
        .batchById('b')
        .wait({ timeoutSeconds })
        .catch((error) => error);
      await vi.advanceTimersByTimeAsync(100_000);
      return failure;
    }

    test.each([
      ['not seen', undefined, []],
      ['seen before', BATCH, [BATCH]],
    ])('has its end, too, and the last error as its cause: the batch was %s', async (_, batch, answers) => {
      const failure = await failureOf(40, ...answers);
      expect(failure).toBeInstanceOf(BatchTimeoutError);
      expect(failure.batch).toEqual(batch);
      expect(failure.cause).toBeInstanceOf(ConnectionError);
      expect(failure.message).toMatch(/batch b has not ended within 40 s: .*it broke/);
    });

    test('that lasts longer than the producer repeats fails with its error', async () => {
      expect(await failureOf(600)).toBeInstanceOf(ConnectionError);
    });
  });

  test('of no time looks once', async () => {
    const { producer, sent } = answered({ id: 'b', state: 'succeeded' });
    expect(await producer.batchById('b').wait({ timeoutSeconds: 0 })).toMatchObject({ state: 'succeeded' });
    expect(sent).toMatchObject([{ call: 'GET /batches/b', waitSeconds: 0 }]);
    await expect(producer.batchById('b').wait({ timeoutSeconds: -1 })).rejects.toThrow(RangeError);
  });

  test('ends with its signal', async () => {
    const { producer } = answered(BATCH);
    const waiting = producer.batchById('b').wait({ signal: AbortSignal.timeout(50) });
    await expect(waiting).rejects.toMatchObject({ name: 'TimeoutError' });
  });

  test('for a batch that is not there is refused', async () => {
    const { producer } = answered({ refused: 404, code: 'batch_not_found' });
    await expect(producer.batchById('b').wait()).rejects.toMatchObject({ code: 'batch_not_found' });
  });
});
