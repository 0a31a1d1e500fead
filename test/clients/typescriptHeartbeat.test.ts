import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Call } from '../../clients/typescript/src/caller.ts';
import { ConnectionError } from '../../clients/typescript/src/errors.ts';
import type { LeasedJob } from '../../clients/typescript/src/generated.ts';
import { Heartbeat } from '../../clients/typescript/src/heartbeat.ts';
import { Run } from '../../clients/typescript/src/run.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }));
afterEach(() => void vi.useRealTimers());

/** Half a minute is more than any backoff. */
const LONG_MS = 30_000;
const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);

// biome-ignore lint/suspicious/noExplicitAny: a body and an answer of any shape.
type Json = any;

/** Runs whose extends are answered by `answer`. */
function leases(answer: (call: Call) => Promise<unknown>, count = 1) {
  const calls: Call[] = [];
  const runs = Array.from({ length: count }, (_, i) => {
    const job = { id: `job-${i}`, lease_token: 'token', lease_seconds: 60 } as LeasedJob;
    return new Run(job, false);
  });
  const request = (call: Call) => {
    calls.push(call);
    return answer(call);
  };
  const signal = (run: Run, code: 'lease_lost') => run.fire(code);
  const heartbeat = new Heartbeat({ request }, new Set(runs), { signal, observe: () => undefined } as never);
  heartbeat.schedule();
  return { heartbeat, runs, run: runs[0] as Run, calls };
}

const withStatus =
  (status: number) =>
  async ({ body, path }: Call): Promise<Json> => {
    if (path !== '/jobs/settle') return { id: path.split('/')[2] };
    return { extends: (body as Json).extends.map(({ id }: { id: string }) => ({ id, status })) };
  };
const isReport = ({ path }: Call) => path.endsWith('/extend');
const away = async () => {
  throw new ConnectionError('away');
};

test('progress of a lease that an extend finds lost fails with the reason of its signal, and at once from then on', async () => {
  let answer: (value: unknown) => void = () => undefined;
  const { heartbeat, run, calls } = leases(() => new Promise((resolve) => (answer = resolve)));
  while (calls.length === 0) await pass(100);
  const waiting = heartbeat.report(run, 1);
  answer({ extends: [{ id: 'job-0', status: 409 }] });
  await expect(waiting).rejects.toMatchObject({ code: 'lease_lost' });
  await expect(heartbeat.report(run, 2)).rejects.toBe(run.signal.reason);
  await pass(LONG_MS);
  expect(calls).toHaveLength(1);
});

test('progress that is on its way when the lease is lost fails with the reason of its signal', async () => {
  let fail: (error: unknown) => void = () => undefined;
  const { heartbeat, run } = leases((call) =>
    isReport(call) ? new Promise((_, reject) => (fail = reject)) : withStatus(409)(call),
  );
  const waiting = heartbeat.report(run, 1);
  // The request that has it hangs, so another one extends the lease.
  await pass(25_000);
  expect(run.lost).toBe(true);
  fail(new ConnectionError('no answer'));
  await expect(waiting).rejects.toBe(run.signal.reason);
});

test('progress that cannot be sent is sent again, but not in a hurry', async () => {
  let answer: (call: Call) => Promise<unknown> = away;
  const { heartbeat, run, calls } = leases((call) => answer(call));
  let isHeard = false;
  const waiting = heartbeat.report(run, 1).then(() => (isHeard = true));
  await pass(LONG_MS);
  expect(calls.filter(isReport).length).toBeGreaterThan(5);
  expect(calls.length).toBeLessThan(100);
  expect(isHeard).toBe(false);
  answer = withStatus(200);
  await pass(LONG_MS);
  await waiting;
});

test.each<[string, (call: Call) => Promise<unknown>]>([
  ['cut', away],
  ['answered 503 one by one', withStatus(503)],
])(
  'extends of a thousand leases that are %s are sent again together, and not in a hurry',
  async (_, answer) => {
    const { calls } = leases(answer, 1000);
    await pass(2 * LONG_MS);
    expect(calls.length).toBeGreaterThan(5);
    expect(calls.length).toBeLessThan(200);
  },
);

test('newer progress takes the place of what could not be sent, also when it is null', async () => {
  let answer: (call: Call) => Promise<unknown> = away;
  const { heartbeat, run, calls } = leases((call) => answer(call));
  const first = heartbeat.report(run, 1);
  let isNext = false;
  answer = async () => {
    if (!isNext) void heartbeat.report(run, null);
    isNext = true;
    throw new ConnectionError('away');
  };
  await pass(10);
  answer = withStatus(200);
  await pass(LONG_MS);
  await first;
  expect(calls.filter(isReport).map(({ body }) => (body as Json).progress)).toEqual([1, null]);
});
