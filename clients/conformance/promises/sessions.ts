import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { until } from '../../../test/support/until.ts';
import { promise } from '../promises.ts';
import { claimIn } from '../proxy.ts';
import type { Stage } from '../stage.ts';

const GROUP = 'Sessions';

/** The session that the worker holds now. */
const heldBy = (stage: Stage): Promise<string> =>
  until(() => stage.proxy.sessions.at(-1)?.answer?.session, { what: 'a session' });

const claimed = (stage: Stage, session: string | undefined) =>
  stage.request((one) => claimIn(one) && claimIn(one).session === session, `a claim with ${session}`);

promise(GROUP, 'a worker holds a session, and names it in its claims', async (stage) => {
  const id = await stage.enqueue();
  stage.start({ wait_seconds: 1 });
  const session = await heldBy(stage);
  await stage.reaches(id, 'completed');
  await claimed(stage, session);
  expect(stage.proxy.sessions).toHaveLength(1);
});

promise(GROUP, 'the jobs of a worker that is killed go to another one at once', async (stage) => {
  const { worker } = stage.startProcess({ lease_seconds: 3600, resume_seconds: 0, wait_seconds: 1 });
  // On a busy machine, the first claims name none.
  await claimed(stage, await heldBy(stage));
  const id = await stage.enqueue({ ms: 2000 });
  await worker.seen('started', id);
  worker.kill();
  const other = stage.start({ lease_seconds: 3600 });
  await other.seen('started', id);
  const { attempt, deliveries } = await stage.reaches(id, 'completed');
  expect({ attempt, deliveries }).toEqual({ attempt: 2, deliveries: 2 });
});

promise(
  GROUP,
  'a session whose connection is lost is resumed, and no lease with it',
  async (stage) => {
    const id = await stage.enqueue({ ms: 4000 });
    const worker = stage.start({ resume_seconds: 2 * stage.pace, lease_seconds: 60 });
    await worker.seen('started', id);
    const session = await heldBy(stage);
    for (let i = 0; i < 3; i++) {
      const before = stage.proxy.sessions.length;
      stage.proxy.breakSessions();
      await until(() => stage.proxy.sessions.length > before && stage.proxy.sessions.at(-1)?.answer?.session);
    }
    expect(stage.proxy.sessions.at(-1)).toMatchObject({ body: { session }, answer: { session } });
    expect(await stage.reaches(id, 'completed')).toMatchObject({ attempt: 1, deliveries: 1 });
    expect(stage.starts(id)).toBe(1);
  },
  { isTimed: true },
);

promise(GROUP, 'a handler whose session has ended is told, and the next claim has another', async (stage) => {
  const worker = stage.start({ resume_seconds: 0, lease_seconds: 3600, concurrency: 2, wait_seconds: 1 });
  const first = await heldBy(stage);
  await claimed(stage, first);
  const id = await stage.enqueue({ ms: 60_000 });
  await worker.seen('started', id);
  stage.proxy.harmSessions(() => 'cut');
  stage.proxy.breakSessions();
  const isOver = async () => {
    const { state, deliveries } = await stage.job(id);
    // The other place of the worker may have it at once.
    return state === 'ready' || deliveries > 1;
  };
  await until(isOver, { what: 'the end of the session' });
  stage.proxy.heal();
  await worker.seen('signal', id);
  const second = await until(() => {
    const session = stage.proxy.sessions.at(-1)?.answer?.session;
    return session !== first && session;
  });
  await claimed(stage, second);
  expect(worker.isOver).toBe(false);
});

promise(GROUP, 'while its session is not held, a worker claims without one', async (stage) => {
  const worker = stage.start({ wait_seconds: 1 });
  const session = await heldBy(stage);
  await claimed(stage, session);
  stage.proxy.harmSessions(() => 'cut');
  stage.proxy.breakSessions();
  await claimed(stage, undefined);
  const id = await stage.enqueue();
  await stage.reaches(id, 'completed');
  expect(worker.isOver).toBe(false);
});

promise(GROUP, 'where a proxy keeps the lines back, a worker works without a session', async (stage) => {
  stage.proxy.harmSessions(() => 'keep back');
  const id = await stage.enqueue();
  const worker = stage.start({ wait_seconds: 1 });
  await stage.reaches(id, 'completed');
  await sleep(7000);
  // The worker has hung up, and does not try again soon.
  expect(stage.proxy.sessions.map(({ isOver }) => isOver)).toEqual([true]);
  expect(stage.proxy.exchanges.some((one) => claimIn(one)?.session !== undefined)).toBe(false);
  expect(worker.isOver).toBe(false);
});

for (const [status, code] of [
  [404, 'route_not_found'],
  [400, 'invalid_request'],
  [403, 'forbidden'],
] as const)
  promise(GROUP, `where sessions are refused (${status}), a worker works without one`, async (stage) => {
    stage.proxy.harmSessions(() => ({ status, code }));
    const id = await stage.enqueue();
    const worker = stage.start();
    await stage.reaches(id, 'completed');
    await sleep(1500);
    expect(stage.proxy.sessions).toHaveLength(1);
    expect(worker.isOver).toBe(false);
  });

promise(GROUP, 'a worker that is to hold no session opens none', async (stage) => {
  const id = await stage.enqueue();
  stage.start({ session: false });
  await stage.reaches(id, 'completed');
  expect(stage.proxy.sessions).toEqual([]);
});

promise(GROUP, 'a worker that has stopped has hung up', async (stage) => {
  const id = await stage.enqueue({ ms: 1500 });
  const worker = stage.start();
  await worker.seen('started', id);
  worker.askToStop();
  expect(stage.proxy.sessions.map(({ isOver }) => isOver)).toEqual([false]);
  await worker.ended();
  expect((await stage.job(id)).state).toBe('completed');
  await until(() => stage.proxy.sessions[0]?.isOver);
});

promise(GROUP, 'a time to resume of more than 60 s is refused at once', async (stage) => {
  const worker = stage.start({ resume_seconds: 61 });
  expect(await worker.ended()).toBe('config');
  expect(stage.proxy.sessions).toEqual([]);
});
