import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Call } from '../../clients/typescript/src/caller.ts';
import { DibsError } from '../../clients/typescript/src/errors.ts';
import { Worker, type WorkerEvent } from '../../clients/typescript/src/index.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }));
afterEach(() => void vi.useRealTimers());

// biome-ignore lint/suspicious/noExplicitAny: a body of any shape.
type Json = any;
const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);

const problem = (status: number, code: string) => ({
  ...{ type: `urn:problem-type:dibs:${code}`, code, status, title: '', detail: 'No.' },
});
const settled = ({ acks = [], nacks = [], claim }: Json, status = 200) => ({
  acks: acks.map(({ id }: Json) => ({ id, status, ...(status > 299 && { problem: problem(status, 'no') }) })),
  nacks: nacks.map(({ id }: Json) => ({ id, status: 200 })),
  ...(claim && { jobs: [] }),
});

/** A worker that gets so many jobs by its first claim. Later claims wait for ever. `settle` answers its settlements. */
function work(count: number, settle: (body: Json, settlements: number) => Json) {
  const jobs = Array.from({ length: count }, (_, i) => ({
    ...{
      id: `job-${i}`,
      queue: 'q',
      lease_token: 'token',
      lease_seconds: 600,
      payload_text: '1',
      headers: {},
    },
  }));
  /** The claims that went by themselves. */
  const claims: Json[] = [];
  const settlements: Json[] = [];
  const events: WorkerEvent[] = [];
  const request = async ({ path, body }: Call): Promise<Json> => {
    const at = performance.now();
    if (path === '/jobs/claim') {
      claims.push({ at, ...(body as Json) });
      return claims.length > 1 ? new Promise(() => undefined) : { jobs };
    }
    const sent = JSON.parse((body as Json).text);
    settlements.push({ at, ...sent });
    return settle(sent, settlements.length);
  };
  const worker = new Worker(
    { request },
    {
      ...{ queues: ['q'], concurrency: count, session: false, logger: null },
      observe: (event) => void events.push(event),
    },
    () => undefined,
  );
  void worker.run();
  const stop = async () => {
    const stopped = worker.stop({ deadlineSeconds: 0 });
    await pass(10_000);
    await stopped;
  };
  return { claims, settlements, stop, told: () => events.map(({ type }) => type) };
}

test('items of a settlement that are answered 503 are sent again together, and not in a hurry', async () => {
  const { settlements, stop } = work(500, (body) => settled(body, 503));
  await pass(60_000);
  expect(settlements.length).toBeGreaterThan(5);
  expect(settlements.length).toBeLessThan(300);
  await stop();
});

const refuse = (status = 400, code = 'invalid_request') => {
  throw new DibsError(problem(status, code));
};

test.each([
  [400, 'invalid_request'],
  [403, 'forbidden'],
])(
  'a settlement that is refused (%i) together with a claim goes once more by itself, and so does the claim',
  async (status, code) => {
    const { claims, settlements, stop, told } = work(1, (body) =>
      body.claim ? refuse(status, code) : settled(body),
    );
    await pass(60_000);
    const [first, second, ...more] = settlements;
    expect([first.acks, second.acks, more]).toMatchObject([[{ id: 'job-0' }], [{ id: 'job-0' }], []]);
    expect(second.claim).toBeUndefined();
    expect(claims[1].claim_id).toBe(first.claim.claim_id);
    expect(told()).not.toContain('refused');
    await stop();
  },
);

test('settlements that go alone, because they were refused together, carry no claim', async () => {
  const { settlements, stop } = work(3, (body, count) => {
    if (count === 1) return refuse();
    return body.acks?.[0].id === 'job-1' ? refuse() : settled(body);
  });
  await pass(60_000);
  expect(settlements[0]).toMatchObject({ acks: [{}, {}, {}], claim: {} });
  const alone = settlements.slice(1).filter(({ acks }) => acks);
  expect(alone.map(({ acks }) => acks.map(({ id }: Json) => id))).toEqual([['job-0'], ['job-1'], ['job-2']]);
  for (const { claim } of alone) expect(claim).toBeUndefined();
  expect(settlements.filter(({ nacks }) => nacks)).toMatchObject([
    { nacks: [{ id: 'job-1', retry: false }] },
  ]);
  await stop();
});

test('a claim that a failed settlement carried waits out the pause, and then goes by itself', async () => {
  const { claims, settlements, stop } = work(1, (body, count) => {
    if (count === 1) throw new DibsError(problem(503, 'unavailable'), 5);
    return settled(body);
  });
  await pass(60_000);
  expect(claims[1].claim_id).toBe(settlements[0].claim.claim_id);
  expect(claims[1].at - settlements[0].at).toBeGreaterThanOrEqual(5000);
  expect(settlements[1].at - settlements[0].at).toBeGreaterThanOrEqual(5000);
  expect(settlements[1].claim).toBeUndefined();
  await stop();
});
