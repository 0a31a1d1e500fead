import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { until } from '../../../test/support/until.ts';
import { promise } from '../promises.ts';
import { claimIn, extendedIn, settledIn } from '../proxy.ts';
import type { Stage } from '../stage.ts';

const GROUP = 'Leases';
/** In seconds. */
const leaseOf = (stage: Stage) => 1.5 * stage.pace;
const timed = { isTimed: true };

async function runsOnce(stage: Stage, lease_seconds: number, times: number): Promise<void> {
  const ms = lease_seconds * times * 1000;
  const id = await stage.enqueue({ ms });
  // With a second place, so that it would claim the job again if its lease ended.
  stage.start({ lease_seconds, concurrency: 2 });
  await stage.reaches(id, 'completed', ms + 60_000 * stage.pace);
  expect(await stage.job(id)).toMatchObject({ attempt: 1, deliveries: 1 });
  expect(stage.starts(id)).toBe(1);
}

promise(
  GROUP,
  'a job 4 times longer than its lease runs once',
  (stage) => runsOnce(stage, leaseOf(stage), 4),
  timed,
);
promise(
  GROUP,
  'a job 100 times longer than its lease runs once',
  (stage) => runsOnce(stage, 0.4 * stage.pace, 100),
  { isSlow: true, isTimed: true },
);

promise(
  GROUP,
  'leases are extended at about a third of their length',
  async (stage) => {
    const id = await stage.enqueue({ ms: 6000 * stage.pace });
    stage.start({ lease_seconds: 6 * stage.pace });
    await stage.reaches(id, 'completed');
    const beats = stage.proxy.exchanges.filter((one) => extendedIn(one).includes(id));
    expect(beats.length).toBeGreaterThanOrEqual(2);
    expect(beats.length).toBeLessThanOrEqual(5);
  },
  timed,
);

promise(
  GROUP,
  'a lease is extended by its own length, which the queue may set',
  async (stage) => {
    await stage.configure({ lease_seconds: 2 });
    const id = await stage.enqueue({ ms: 60_000 });
    stage.start({ lease_seconds: undefined });
    const { body } = await stage.request((one) => extendedIn(one).includes(id));
    expect(body.extends?.[0]?.lease_seconds ?? body.lease_seconds).toBe(2);
  },
  timed,
);

promise(
  GROUP,
  'a short job is not extended',
  async (stage) => {
    const id = await stage.enqueue({ ms: 50 });
    stage.start({ lease_seconds: 600 });
    await stage.reaches(id, 'completed');
    await sleep(300);
    expect(stage.proxy.exchanges.some((one) => extendedIn(one).length > 0)).toBe(false);
  },
  timed,
);

promise(
  GROUP,
  'leases that are due together are extended together',
  async (stage) => {
    const ids = await stage.enqueueAll(Array.from({ length: 10 }, () => ({ ms: 60_000 })));
    stage.start({ lease_seconds: 3 * stage.pace, concurrency: 10 });
    await until(() => ids.every((id) => stage.proxy.exchanges.some((one) => extendedIn(one).includes(id))));
    const beats = stage.proxy.exchanges.map(extendedIn).filter((all) => all.length > 0);
    expect(beats.length).toBeLessThanOrEqual(beats.flat().length * 0.8);
  },
  timed,
);

promise(
  GROUP,
  'the signal fires when Dibs says that the lease is lost',
  async (stage) => {
    const id = await stage.enqueue({ ms: 60_000 });
    const worker = stage.start({ lease_seconds: leaseOf(stage) });
    await worker.seen('started', id);
    await stage.call('DELETE', `/queues/${stage.queue}?force=true`);
    const { code } = await worker.seen('signal', id);
    if (code !== undefined) expect(code).toBe('lease_lost');
    await worker.seen('finished', id);
  },
  timed,
);

promise(
  GROUP,
  'what a handler fails with after its lease is lost is not sent',
  async (stage) => {
    const id = await stage.enqueue({ ms: 60_000 });
    const worker = stage.start({ lease_seconds: leaseOf(stage) });
    await worker.seen('started', id);
    await stage.call('DELETE', `/queues/${stage.queue}?force=true`);
    await worker.seen('finished', id);
    await sleep(300);
    expect(stage.proxy.exchanges.flatMap(settledIn)).toEqual([]);
  },
  timed,
);

promise(
  GROUP,
  'the signal fires when the lease ends without an answer to its extends',
  async (stage) => {
    const id = await stage.enqueue({ ms: 60_000 });
    const worker = stage.start({ lease_seconds: leaseOf(stage) });
    stage.proxy.harm((one) => (extendedIn(one).length > 0 ? 'cut' : undefined));
    const { code } = await worker.seen('signal', id);
    if (code !== undefined) expect(code).toBe('lease_expired');
  },
  { ...timed, needs: ['expiry'] },
);

promise(
  GROUP,
  'extends that are never answered do not keep the signal from firing',
  async (stage) => {
    const id = await stage.enqueue({ ms: 60_000 });
    const worker = stage.start({ lease_seconds: leaseOf(stage) });
    stage.proxy.harm((one) => (extendedIn(one).length > 0 ? 'hang' : undefined));
    const started = await worker.seen('started', id);
    const fired = await worker.seen('signal', id);
    expect(fired.at - started.at).toBeLessThan(20_000);
  },
  { ...timed, needs: ['expiry'] },
);

promise(
  GROUP,
  'work that ends after its lease counts, when nobody else has the job',
  async (stage) => {
    const id = await stage.enqueue({ ms: 4000 * stage.pace, ignore_signal: true });
    const worker = stage.start({ lease_seconds: 1 * stage.pace });
    await worker.seen('started', id);
    stage.proxy.harm((one) => (extendedIn(one).length > 0 ? 'cut' : undefined));
    await stage.reaches(id, 'ready');
    await stage.reaches(id, 'completed');
    expect(stage.starts(id)).toBe(1);
  },
  timed,
);

promise(
  GROUP,
  'work that ends after its lease leaves the job to the worker that has it now',
  async (stage) => {
    const id = await stage.enqueue({ ms: 4000 * stage.pace, ignore_signal: true });
    const worker = stage.start({ lease_seconds: 1 * stage.pace });
    await worker.seen('started', id);
    stage.proxy.harm((one) => (extendedIn(one).length > 0 ? 'cut' : undefined));
    await stage.reaches(id, 'ready');
    const claim = { queues: [stage.queue], lease_seconds: 600, worker: 'another' };
    expect((await stage.call('POST', '/jobs/claim', claim)).jobs[0].id).toBe(id);
    await worker.seen('finished', id);
    await stage.request((one) => settledIn(one).some(([, settled]) => settled === id) && one.isOver);
    expect(await stage.job(id)).toMatchObject({ state: 'leased', worker: 'another' });
  },
  timed,
);

promise(
  GROUP,
  'a worker never has two handlers of one job',
  async (stage) => {
    const id = await stage.enqueue({ ms: 5000 * stage.pace, ignore_signal: true });
    const worker = stage.start({ lease_seconds: 1 * stage.pace, concurrency: 2 });
    await worker.seen('started', id);
    stage.proxy.harm((one) => (extendedIn(one).length > 0 ? 'cut' : undefined));
    await stage.request((one) => one.answer?.jobs?.[0]?.deliveries === 2);
    stage.proxy.heal();
    await stage.reaches(id, 'completed');
    let running = 0;
    for (const { event } of worker.events) {
      running += event === 'started' ? 1 : event === 'finished' ? -1 : 0;
      expect(running).toBeLessThanOrEqual(1);
    }
  },
  timed,
);

promise(
  GROUP,
  'the signal fires when somebody cancels the job, and the job is cancelled',
  async (stage) => {
    const id = await stage.enqueue({ ms: 60_000 });
    const worker = stage.start({ lease_seconds: leaseOf(stage) });
    await worker.seen('started', id);
    await stage.call('DELETE', `/jobs/${id}`);
    const { code } = await worker.seen('signal', id);
    if (code !== undefined) expect(code).toBe('cancel_requested');
    await stage.reaches(id, 'cancelled');
  },
  timed,
);

promise(
  GROUP,
  'a handler that ends its work after a cancel completes the job, and is signalled once',
  async (stage) => {
    const id = await stage.enqueue({ ms: 4000 * stage.pace, ignore_signal: true });
    const worker = stage.start({ lease_seconds: leaseOf(stage) });
    await worker.seen('started', id);
    await stage.call('DELETE', `/jobs/${id}`);
    await stage.reaches(id, 'completed');
    expect(worker.all('signal', id).length).toBe(1);
  },
  timed,
);

promise(
  GROUP,
  'an extend that fails once is sent again in time',
  async (stage) => {
    const id = await stage.enqueue({ ms: 7000 * stage.pace });
    const failed = new Set<string>();
    stage.proxy.harm((one) => {
      const [first] = extendedIn(one);
      if (first === undefined || failed.has(first)) return undefined;
      failed.add(first);
      return { status: 503 };
    });
    stage.start({ lease_seconds: 3 * stage.pace, concurrency: 2 });
    await stage.reaches(id, 'completed');
    expect(failed.size).toBe(1);
    expect(await stage.job(id)).toMatchObject({ deliveries: 1 });
  },
  timed,
);

promise(
  GROUP,
  'an extend that is never answered is sent again in time',
  async (stage) => {
    const id = await stage.enqueue({ ms: 9000 * stage.pace });
    let hung = 0;
    stage.proxy.harm((one) => (extendedIn(one).length > 0 && hung++ === 0 ? 'hang' : undefined));
    stage.start({ lease_seconds: 5 * stage.pace, concurrency: 2 });
    await stage.reaches(id, 'completed');
    expect(hung).toBeGreaterThan(1);
    expect(await stage.job(id)).toMatchObject({ deliveries: 1 });
  },
  timed,
);

promise(
  GROUP,
  'an extend that is never answered is sent again within seconds, however long the lease is',
  async (stage) => {
    const id = await stage.enqueue({ ms: 60_000 });
    stage.proxy.harm((one) => (extendedIn(one).length > 0 ? 'hang' : undefined));
    stage.start({ lease_seconds: 30 });
    const beats = () => stage.proxy.exchanges.filter((one) => extendedIn(one).includes(id));
    await until(() => beats().length >= 3, { what: 'three extends' });
    const [first, second, third] = beats().map(({ at }) => at) as [number, number, number];
    expect(second - first).toBeLessThan(6000);
    expect(third - second).toBeLessThan(6000);
  },
  timed,
);

promise(
  GROUP,
  'after an outage longer than its lease, a lease is extended within 5 s',
  async (stage) => {
    const lease_seconds = leaseOf(stage);
    const id = await stage.enqueue({ ms: 12_000 * stage.pace, ignore_signal: true });
    const worker = stage.start({ lease_seconds });
    await worker.seen('started', id);
    stage.proxy.harm(() => ({ status: 503, headers: { 'retry-after': '1' } }));
    // It is taken back: the lease is over by every clock.
    await stage.reaches(id, 'ready');
    await sleep(lease_seconds * 1000);
    const back = performance.now();
    stage.proxy.heal();
    const beat = await stage.request((one) => one.at > back && extendedIn(one).includes(id));
    expect(beat.at - back).toBeLessThan(5000);
  },
  timed,
);

promise(
  GROUP,
  'a lease is extended while its settlement waits for Dibs',
  async (stage) => {
    const id = await stage.enqueue();
    const worker = stage.start({ lease_seconds: leaseOf(stage), concurrency: 2 });
    stage.proxy.harm((one) => (settledIn(one).length > 0 ? { status: 503 } : undefined));
    await worker.seen('finished', id);
    await sleep(leaseOf(stage) * 2500);
    expect(await stage.job(id)).toMatchObject({ state: 'leased', deliveries: 1 });
    stage.proxy.heal();
    await stage.reaches(id, 'completed');
    expect(stage.starts(id)).toBe(1);
  },
  timed,
);

promise(
  GROUP,
  'a claim that was repeated is extended before its job begins',
  async (stage) => {
    const id = await stage.enqueue();
    let lost = 0;
    stage.proxy.harm((one) => (claimIn(one) && lost++ === 0 ? 'lose' : undefined));
    const worker = stage.start();
    const { at } = await worker.seen('started', id);
    const beat = stage.proxy.exchanges.find((one) => extendedIn(one).includes(id));
    expect(beat?.at).toBeLessThan(at);
  },
  timed,
);

promise(
  GROUP,
  'an answer that comes late takes nothing back of a later extend',
  async (stage) => {
    // At any pace: an extend is sent again after a third of the lease, but after 2 s at the latest.
    const lease_seconds = 6;
    const id = await stage.enqueue({ ms: lease_seconds * 2000 });
    let seen = 0;
    // The second extend is sent after a third of the lease, and answered before the first.
    stage.proxy.harm((one) =>
      extendedIn(one).includes(id) && seen++ === 0 ? { late: lease_seconds * 400 } : undefined,
    );
    stage.start({ lease_seconds });
    await stage.reaches(id, 'completed');
    const [first, ...later] = stage.proxy.exchanges.filter((one) => extendedIn(one).includes(id));
    expect(first?.isOver).toBe(true);
    const [second, third] = later;
    expect((third?.at ?? 0) - (second?.at ?? 0)).toBeGreaterThan(lease_seconds * 200);
  },
  timed,
);
