import { expect } from 'vitest';
import { until } from '../../../test/support/until.ts';
import { promise } from '../promises.ts';
import { claimIn, extendedIn, settledIn, waits } from '../proxy.ts';
import type { Stage } from '../stage.ts';

const GROUP = 'Stopping';

/** What a worker does first when it stops. */
const takesItsClaimBack = (stage: Stage) =>
  stage.request(
    (one) => one.path === '/jobs/claim' && !waits(one),
    'the claim that takes the waiting one back',
  );

promise(GROUP, 'an idle worker stops at once, while its claim waits', async (stage) => {
  const worker = stage.start({ wait_seconds: 60 });
  await stage.request(waits);
  const asked = performance.now();
  await worker.stop();
  expect(performance.now() - asked).toBeLessThan(15_000);
});

promise(GROUP, 'a worker that stops lets its jobs end, and settles them', async (stage) => {
  const ids = await stage.enqueueAll([
    { ms: 1500, result: 1 },
    { ms: 300, result: 2 },
  ]);
  const worker = stage.start({ concurrency: 2 });
  await worker.seen('started', undefined, 2);
  await worker.stop();
  for (const id of ids) expect((await stage.job(id)).state).toBe('completed');
  expect(worker.all('signal')).toEqual([]);
});

promise(GROUP, 'a worker that stops begins no job any more', async (stage) => {
  const [running] = await stage.enqueueAll([{ ms: 1500 }]);
  const worker = stage.start({ concurrency: 3 });
  await worker.seen('started', running);
  await stage.request((one) => waits(one) && one.body.limit === 2);
  worker.askToStop();
  await takesItsClaimBack(stage);
  const ids = await stage.enqueueAll([{}, {}]);
  await worker.ended();
  for (const id of ids) expect(await stage.job(id)).toMatchObject({ state: 'ready', attempt: 0 });
  expect(worker.all('started').length).toBe(1);
});

promise(
  GROUP,
  'jobs whose claim is answered while the worker stops go back at once, uncharged',
  async (stage) => {
    stage.proxy.harm((one) => (waits(one) ? { late: 3000 } : undefined));
    const worker = stage.start({ concurrency: 2 });
    await stage.request(waits);
    const ids = await stage.enqueueAll([{}, {}]);
    await until(async () => (await stage.job(ids[1] as string)).state === 'leased');
    await worker.stop();
    for (const id of ids) expect(await stage.job(id)).toMatchObject({ state: 'ready', attempt: 0 });
    expect(worker.all('started')).toEqual([]);
  },
);

promise(
  GROUP,
  'jobs whose answer is lost while the worker stops go back at once, uncharged',
  async (stage) => {
    const id = await stage.enqueue();
    stage.proxy.harm((one) => (claimIn(one) ? 'lose' : undefined));
    const worker = stage.start();
    await stage.request((one) => one.answer?.jobs?.length === 1);
    worker.askToStop();
    stage.proxy.heal();
    await worker.ended();
    expect(await stage.job(id)).toMatchObject({ state: 'ready', attempt: 0 });
    expect(worker.all('started')).toEqual([]);
  },
);

promise(GROUP, 'at the deadline the signal of each handler fires', async (stage) => {
  const id = await stage.enqueue({ ms: 60_000 });
  const worker = stage.start();
  await worker.seen('started', id);
  worker.askToStop(0.3);
  const { code } = await worker.seen('signal', id);
  if (code !== undefined) expect(code).toBe('stopping');
  await worker.ended();
});

promise(GROUP, 'a job that ends on that signal is released, and no attempt is charged', async (stage) => {
  const id = await stage.enqueue({ ms: 60_000 });
  const worker = stage.start();
  await worker.seen('started', id);
  await worker.stop(0.2);
  expect(await stage.job(id)).toMatchObject({ state: 'ready', attempt: 0, last_error: null });
});

promise(GROUP, 'a job that does not end on that signal is released, and the worker stops', async (stage) => {
  const id = await stage.enqueue({ ms: 15_000, ignore_signal: true });
  const worker = stage.start();
  await worker.seen('started', id);
  const asked = performance.now();
  await worker.stop(0.2);
  expect(performance.now() - asked).toBeLessThan(14_000);
  expect(await stage.job(id)).toMatchObject({ state: 'ready', attempt: 0 });
});

promise(GROUP, 'stop_seconds is the deadline when none is named', async (stage) => {
  const id = await stage.enqueue({ ms: 60_000 });
  const worker = stage.start({ stop_seconds: 0.5 });
  await worker.seen('started', id);
  await worker.stop();
  expect(await stage.job(id)).toMatchObject({ state: 'ready', attempt: 0 });
});

promise(GROUP, 'a second call makes the deadline earlier', async (stage) => {
  const id = await stage.enqueue({ ms: 60_000 });
  const worker = stage.start({ stop_seconds: 1000 });
  await worker.seen('started', id);
  worker.askToStop();
  await stage.request((one) => claimIn(one));
  await worker.stop(0);
  expect((await stage.job(id)).state).toBe('ready');
});

promise(
  GROUP,
  'leases are extended while a worker that stops lets its jobs end',
  async (stage) => {
    const id = await stage.enqueue({ ms: 5000 * stage.pace });
    const worker = stage.start({ lease_seconds: 1.5 * stage.pace, stop_seconds: 200 });
    await worker.seen('started', id);
    worker.askToStop();
    await worker.ended();
    expect(await stage.job(id)).toMatchObject({ state: 'completed', deliveries: 1 });
    expect(stage.proxy.exchanges.some((one) => extendedIn(one).includes(id))).toBe(true);
  },
  { isTimed: true },
);

promise(GROUP, 'a settlement that fails while the worker stops is sent again', async (stage) => {
  const id = await stage.enqueue({ ms: 400, result: 'kept' });
  const worker = stage.start();
  await worker.seen('started', id);
  let refused = 0;
  stage.proxy.harm((one) => (settledIn(one).length > 0 && refused++ < 2 ? { status: 503 } : undefined));
  await worker.stop();
  expect(await stage.job(id)).toMatchObject({ state: 'completed', result: 'kept' });
});

promise(GROUP, 'a worker stops while Dibs is away', async (stage) => {
  const worker = stage.start();
  await stage.request(waits);
  stage.proxy.harm(() => 'cut');
  stage.proxy.breakAll();
  const asked = performance.now();
  await worker.stop(1);
  expect(performance.now() - asked).toBeLessThan(20_000);
});

promise(GROUP, 'a rolling deploy charges no attempt, and does no job twice', async (stage) => {
  const ids = await stage.enqueueAll(Array.from({ length: 40 }, (_, i) => ({ ms: 40 + (i % 4) * 40 })));
  const settings = { concurrency: 2, stop_seconds: 20 };
  const olds = [stage.start(settings), stage.start(settings)];
  await Promise.all(olds.map((worker) => worker.seen('started')));
  for (const old of olds) {
    const next = stage.start(settings);
    await old.stop();
    await next.seen('started').catch(() => undefined);
  }
  await stage.reachAll(ids, 'completed');
  for (const id of ids) {
    expect(stage.starts(id)).toBe(1);
    expect((await stage.job(id)).attempt).toBe(1);
  }
});

promise(GROUP, 'SIGTERM lets the jobs under way end, and then the process ends with 0', async (stage) => {
  const [id, next] = await stage.enqueueAll([{ ms: 2000, result: 'whole' }, {}]);
  const { worker, process } = stage.startProcess();
  await worker.seen('started', id);
  process.signal('SIGTERM');
  expect(await process.exited).toBe(0);
  expect(await stage.job(id as string)).toMatchObject({ state: 'completed', result: 'whole', attempt: 1 });
  expect(await stage.job(next as string)).toMatchObject({ state: 'ready', attempt: 0 });
  expect(worker.all('signal')).toEqual([]);
});

promise(
  GROUP,
  'a second SIGTERM gives the jobs back, uncharged, and the process ends with 0',
  async (stage) => {
    const id = await stage.enqueue({ ms: 60_000 });
    const { worker, process } = stage.startProcess({ concurrency: 2, stop_seconds: 1000 });
    await worker.seen('started', id);
    await stage.request((one) => waits(one) && one.body.limit === 1);
    process.signal('SIGTERM');
    await takesItsClaimBack(stage);
    process.signal('SIGTERM');
    expect(await process.exited).toBe(0);
    expect(await stage.job(id)).toMatchObject({ state: 'ready', attempt: 0 });
  },
);

promise(GROUP, 'SIGTERM ends an idle process with 0, while its claim waits', async (stage) => {
  const { process } = stage.startProcess({ wait_seconds: 60 });
  await stage.request(waits);
  process.signal('SIGTERM');
  expect(await process.exited).toBe(0);
});

const ownStop = { needs: ['own stop' as const] };

promise(
  GROUP,
  'a worker that is stopped before it runs claims nothing, and ends',
  async (stage) => {
    expect(await stage.start({ stop_first: true }).ended()).toBeUndefined();
    expect(stage.proxy.exchanges).toEqual([]);
  },
  ownStop,
);

promise(
  GROUP,
  'a worker that is stopped many times ends once',
  async (stage) => {
    const id = await stage.enqueue({ ms: 1000 });
    const worker = stage.start();
    await worker.seen('started', id);
    for (let i = 0; i < 3; i++) worker.askToStop(100);
    await worker.ended();
    worker.askToStop();
    worker.askToStop(0);
    await stage.reaches(id, 'completed');
    expect(worker.all('stopped')).toHaveLength(1);
  },
  ownStop,
);

promise(
  GROUP,
  'a later call of stop() with a longer deadline makes it no later',
  async (stage) => {
    const id = await stage.enqueue({ ms: 60_000 });
    const worker = stage.start();
    await worker.seen('started', id);
    worker.askToStop(0.5);
    worker.askToStop(1000);
    await worker.ended();
    expect(await stage.job(id)).toMatchObject({ state: 'ready', attempt: 0 });
  },
  ownStop,
);

promise(
  GROUP,
  'a handler may stop its own worker, and its job is done',
  async (stage) => {
    const id = await stage.enqueue({ stop: 'ask', ms: 200, result: 'done' });
    const worker = stage.start({ concurrency: 2 });
    expect(await worker.ended()).toBeUndefined();
    expect(await stage.job(id)).toMatchObject({ state: 'completed', result: 'done' });
  },
  ownStop,
);

promise(
  GROUP,
  'a handler that waits for stop() of its own worker ends at the deadline, and loses nothing',
  async (stage) => {
    const id = await stage.enqueue({ stop: 'wait' });
    const worker = stage.start({ stop_seconds: 1 });
    expect(await worker.ended()).toBeUndefined();
    const { state, attempt } = await stage.job(id);
    expect([
      ['ready', 0],
      ['completed', 1],
    ]).toContainEqual([state, attempt]);
  },
  ownStop,
);

for (const stop_on of ['claimed', 'started', 'ended', 'settled', 'retrying'] as const)
  promise(
    GROUP,
    `an observer may stop its worker when it hears "${stop_on}"`,
    async (stage) => {
      const id = await stage.enqueue({ ms: 200 });
      let refused = 0;
      if (stop_on === 'retrying')
        stage.proxy.harm((one) => (settledIn(one).length > 0 && refused++ < 1 ? { status: 503 } : undefined));
      const worker = stage.start({ stop_on });
      expect(await worker.ended()).toBeUndefined();
      const { state, attempt } = await stage.job(id);
      expect([
        ['ready', 0],
        ['completed', 1],
      ]).toContainEqual([state, attempt]);
    },
    ownStop,
  );

promise(
  GROUP,
  'a run that is cancelled stops as by stop(): its jobs end, and are settled',
  async (stage) => {
    const ids = await stage.enqueueAll([{ ms: 1500, result: 1 }, {}]);
    const worker = stage.start();
    await worker.seen('started', ids[0]);
    worker.cancel();
    expect(await worker.ended()).toBeUndefined();
    expect(await stage.job(ids[0] as string)).toMatchObject({ state: 'completed', result: 1 });
    expect(await stage.job(ids[1] as string)).toMatchObject({ state: 'ready', attempt: 0 });
    const after = stage.proxy.exchanges.length;
    await until(() => performance.now() > (worker.events.at(-1)?.at ?? 0) + 1500);
    expect(stage.proxy.exchanges.length).toBe(after);
  },
  { needs: ['cancel'] },
);
