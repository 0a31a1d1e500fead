import { expect, test } from 'vitest';
import { dispatcher } from '../../src/claim/dispatcher.ts';
import type { Consumer } from '../../src/claim/lease.ts';
import type { LeasedJob } from '../../src/claim/leasedJob.ts';

const job = (id: string) => ({ id, payload: 'null' }) as LeasedJob;

/** A dispatcher whose statements return when the test says so. */
function setUp() {
  const statements: {
    queue: string;
    consumers: Consumer[];
    answer(jobs: LeasedJob[][], cut?: boolean): void;
  }[] = [];
  const waiters: ((statement: (typeof statements)[number]) => void)[] = [];
  const givenBack: LeasedJob[] = [];
  const dispatch = dispatcher({
    claimFor: (queue, consumers) =>
      new Promise((answer) => {
        const statement = {
          queue: queue.name,
          consumers,
          answer: (jobs: LeasedJob[][], cut = false) => answer({ jobs, cut }),
        };
        const waiter = waiters.shift();
        if (waiter) waiter(statement);
        else statements.push(statement);
      }),
    queues: { byName: async (name: string) => ({ id: 1, name }) } as never,
    joinRoundTrip: (_, work) => work({ number: undefined } as never),
    giveBack: (jobs) => givenBack.push(...jobs),
    notifier: { waiting: () => undefined } as never,
  });
  return {
    dispatch,
    givenBack,
    /** Answers statements with no jobs, until there are no more. */
    async answerNothing() {
      for (let turns = 0; turns < 5; turns++) {
        await new Promise((resolve) => setImmediate(resolve));
        const next = statements.shift();
        if (!next) continue;
        next.answer(next.consumers.map(() => []));
        turns = 0;
      }
    },
    statement: async () =>
      statements.shift() ?? new Promise<(typeof statements)[number]>((resolve) => waiters.push(resolve)),
  };
}

/** Two claims that wait at two empty queues. */
async function twoWaiters(limit: number) {
  const service = setUp();
  const { dispatch, statement, answerNothing } = service;
  const first = dispatch.claim({ queues: ['a', 'b'], limit, wait_seconds: 60 });
  const visits = [await statement()];
  const second = dispatch.claim({ queues: ['a', 'b'], limit, wait_seconds: 0.05 });
  for (const one of visits) one.answer(one.consumers.map(() => []));
  await answerNothing();
  return { ...service, first: first.jobs, second: second.jobs, hangUp: second.abandon };
}

const expired = () => new Promise((resolve) => setTimeout(resolve, 100));

test('a claim that takes its answer from one queue is given nothing more by another', async () => {
  const { dispatch, statement, first, second, givenBack } = await twoWaiters(2);
  dispatch.wake('a');
  const atA = await statement();
  dispatch.wake('b');
  // The first waiter gets nothing and goes on to look at b; the second one has its answer.
  atA.answer([[], [job('from a')]]);
  expect(await second).toEqual([job('from a')]);
  const atB = await statement();
  expect(atB.queue).toBe('b');
  atB.answer(atB.consumers.map((_, i) => [job(`from b ${i}`)]));
  expect(await first).toEqual([job('from b 0')]);
  expect(atB.consumers).toHaveLength(1);
  expect(givenBack).toEqual([]);
  dispatch.close();
});

test('a claim whose wait runs out while its statement runs takes part in no other one', async () => {
  const { dispatch, statement, second } = await twoWaiters(1);
  dispatch.wake('a');
  const atA = await statement();
  dispatch.wake('b');
  await expired();
  atA.answer([[], []]);
  expect(await second).toEqual([]);
  expect((await statement()).consumers).toHaveLength(1);
  dispatch.close();
});

test('a claim that was hung up on while its statement runs gives back what it got', async () => {
  const { dispatch, statement, hangUp, givenBack } = await twoWaiters(1);
  dispatch.wake('a');
  const atA = await statement();
  dispatch.wake('b');
  hangUp();
  atA.answer([[], [job('from a')]]);
  expect((await statement()).consumers).toHaveLength(1);
  expect(givenBack).toEqual([job('from a')]);
  dispatch.close();
});

test('a dispatcher that closes is idle only when what a statement gave to the hung up is given back', async () => {
  const { dispatch, statement, givenBack } = setUp();
  const { abandon } = dispatch.claim({ wait_seconds: 60 });
  const { answer } = await statement();
  abandon();
  dispatch.close();
  let isIdle = false;
  const idle = dispatch.idle().then(() => {
    isIdle = true;
  });
  await new Promise((resolve) => setImmediate(resolve));
  expect(isIdle).toBe(false);
  answer([[job('late')]]);
  await idle;
  expect(givenBack).toEqual([job('late')]);
});

test('a claim whose wait runs out before its turn has come still looks once', async () => {
  const { dispatch, statement } = setUp();
  dispatch.claim({ wait_seconds: 60 });
  const before = await statement();
  const late = dispatch.claim({ wait_seconds: 0.05 });
  await expired();
  before.answer([[job('first')]]);
  (await statement()).answer([[job('second')]]);
  expect(await late.jobs).toEqual([job('second')]);
  dispatch.close();
});

test('more claims than a replica can hold are refused as unavailable, until others are answered', async () => {
  const { dispatch } = setUp();
  const claim = () => dispatch.claim({ queues: ['a'], wait_seconds: 60 });
  const last = Array.from({ length: 20_000 }, claim).at(-1);
  expect(claim).toThrow(expect.objectContaining({ code: 'unavailable' }));
  last?.abandon();
  await last?.jobs;
  claim();
  dispatch.close();
});
