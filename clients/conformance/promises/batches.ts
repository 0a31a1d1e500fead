import { expect } from 'vitest';
import { until } from '../../../test/support/until.ts';
import { promise } from '../promises.ts';
import { type Exchange, type Fault, settledIn } from '../proxy.ts';
import type { Stage } from '../stage.ts';

const GROUP = 'Batches';
const producer = { needs: ['producer' as const] };
const both = { needs: ['producer' as const, 'follow-ups' as const] };

const batchesOf = async (stage: Stage) => (await stage.call('GET', `/batches?queue=${stage.queue}`)).batches;
const jobsOf = (stage: Stage, count: number) =>
  Array.from({ length: count }, () => ({ queue: stage.queue, payload: {} }));
const isBatch = ({ path }: Exchange) => path === '/batches';
const isLook = ({ path }: Exchange) => /^\/batches\/[^/]+$/.test(path);

promise(
  GROUP,
  'a producer makes a batch, adds, closes and waits; a handler adds to its own; what follows comes once',
  async (stage) => {
    const after = `${stage.queue}.after`;
    await stage.configure({}, after);
    stage.start({ concurrency: 5 });
    const added = { queue: stage.queue, payload: { result: 'added' } };
    const done = await stage.driver
      .batch(stage.proxy.url, {
        batch: {
          ...{ queue: stage.queue, name: 'issue 12' },
          jobs: [{ queue: stage.queue, payload: { ms: 500, in_batch: added } }],
          on_success: { queue: after, payload: 'success' },
          on_end: { queue: after, payload: 'end' },
        },
        add: jobsOf(stage, 2),
        ...{ close: true, wait_seconds: 60 },
      })
      .seen('batch');
    expect(done).toMatchObject({ state: 'succeeded', counts: { completed: 4 } });
    expect(await batchesOf(stage)).toMatchObject([{ id: done.id, name: 'issue 12', followers: [] }]);
    const { jobs } = await stage.call('GET', `/jobs?queue=${after}&include=payload`);
    expect(jobs.map(({ payload }: { payload: string }) => payload).sort()).toEqual(['end', 'success']);
  },
  both,
);

promise(
  GROUP,
  'an add to a batch whose answer is lost is repeated, and adds each job once',
  async (stage) => {
    let lost = 0;
    stage.proxy.harm(({ path }) => (path.startsWith('/jobs') && lost++ < 2 ? 'lose' : undefined));
    const { id } = await stage.call('POST', '/batches', { queue: stage.queue });
    for (const add of [jobsOf(stage, 1), jobsOf(stage, 1005)])
      await stage.driver.batch(stage.proxy.url, { id, add }).seen('batch');
    expect(await batchesOf(stage)).toMatchObject([{ state: 'open', counts: { ready: 1006 } }]);
  },
  producer,
);

promise(
  GROUP,
  'a new batch whose answer is lost is asked for again, and made once',
  async (stage) => {
    let lost = 0;
    stage.proxy.harm((one) => (isBatch(one) && lost++ < 2 ? 'lose' : undefined));
    const batch = { queue: stage.queue, jobs: jobsOf(stage, 3) };
    const { id } = await stage.driver.batch(stage.proxy.url, { batch }).seen('batch');
    const sent = stage.proxy.exchanges.filter(isBatch);
    expect(sent).toHaveLength(3);
    expect(new Set(sent.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(1);
    expect(sent[0]?.idempotencyKey).toBeDefined();
    expect(await batchesOf(stage)).toMatchObject([{ id, counts: { ready: 3 } }]);
  },
  producer,
);

promise(
  GROUP,
  'a new batch is asked for again where Dibs says that it was not made',
  async (stage) => {
    const answers = [503, 429];
    stage.proxy.harm(() => {
      const status = answers.shift();
      return status === undefined ? undefined : { status, headers: { 'retry-after': '1' } };
    });
    const batch = { queue: stage.queue, jobs: jobsOf(stage, 1) };
    const { counts } = await stage.driver.batch(stage.proxy.url, { batch }).seen('batch');
    expect(counts).toMatchObject({ ready: 1 });
    expect(stage.proxy.exchanges.filter(isBatch)).toHaveLength(3);
    expect(await batchesOf(stage)).toHaveLength(1);
  },
  producer,
);

promise(
  GROUP,
  'a close whose answer is lost is repeated, and is no failure',
  async (stage) => {
    let lost = 0;
    stage.proxy.harm(({ path }) => (path.endsWith('/close') && lost++ === 0 ? 'lose' : undefined));
    const batch = { queue: stage.queue, jobs: jobsOf(stage, 1) };
    const closing = stage.driver.batch(stage.proxy.url, { batch, close: true });
    const { id, state } = await closing.seen('batch');
    expect(state).toBe('running');
    const again = stage.driver.batch(stage.proxy.url, { id: id as string, close: true });
    expect((await again.seen('failed')).code).toBe('batch_closed');
  },
  producer,
);

/** A closed batch whose job fails for good once there is a worker, and a producer that waits for it. */
async function waiting(stage: Stage, faults: readonly Fault[]) {
  let looks = 0;
  stage.proxy.harm((one) => (isLook(one) ? faults[looks++] : undefined));
  const job = { queue: stage.queue, payload: { fail: 'no', dead: true } };
  const { id } = await stage.call('POST', '/batches', { queue: stage.queue, jobs: [job], closed: true });
  const waits = stage.driver.batch(stage.proxy.url, { id, wait_seconds: 120 });
  await until(() => looks > faults.length, { what: 'a look that arrives' });
  return waits;
}
const ENDED = { state: 'ended', counts: { dead: 1 } };

promise(
  GROUP,
  'a wait for a batch goes on over failures that pass, and ends with the batch',
  async (stage) => {
    const waits = await waiting(stage, ['cut', { status: 503 }, { status: 502, text: '<html>' }]);
    stage.proxy.breakAll();
    stage.start();
    expect(await waits.seen('batch')).toMatchObject(ENDED);
  },
  both,
);

promise(
  GROUP,
  'a wait whose answer comes late, and is lost, goes on',
  async (stage) => {
    const waits = await waiting(stage, ['lose']);
    stage.start();
    expect(await waits.seen('batch')).toMatchObject(ENDED);
  },
  { ...both, isSlow: true },
);

promise(
  GROUP,
  'a wait for a batch that does not end in time fails, and the batch goes on',
  async (stage) => {
    const batch = { queue: stage.queue, jobs: jobsOf(stage, 1), closed: true };
    const waiting = stage.driver.batch(stage.proxy.url, { batch, wait_seconds: 0.5 });
    await waiting.seen('failed');
    expect(await batchesOf(stage)).toMatchObject([{ state: 'running', counts: { ready: 1 } }]);
  },
  producer,
);

promise(
  GROUP,
  'a batch that is cancelled has ended',
  async (stage) => {
    const batch = { queue: stage.queue, jobs: jobsOf(stage, 3), on_end: { queue: stage.queue } };
    const cancelling = stage.driver.batch(stage.proxy.url, { batch, cancel: true, wait_seconds: 60 });
    expect(await cancelling.seen('batch')).toMatchObject({ state: 'ended', counts: { cancelled: 3 } });
    expect(await batchesOf(stage)).toMatchObject([{ followers: [] }]);
  },
  producer,
);

promise(
  GROUP,
  'a job whose follow-up is for a closed batch is dead, and says why',
  async (stage) => {
    const { id: batch } = await stage.call('POST', '/batches', { queue: stage.queue, closed: true });
    const follow_up = { queue: stage.queue, batch };
    const [bad, good] = await stage.enqueueAll([{ follow_up }, { result: 'kept' }]);
    const worker = stage.start();
    expect((await stage.reaches(bad as string, 'dead')).last_error).toMatch(/closed/);
    expect((await stage.reaches(good as string, 'completed')).result).toBe('kept');
    expect(stage.starts(bad as string)).toBe(1);
    expect(worker.isOver).toBe(false);
  },
  { needs: ['follow-ups'] },
);

promise(
  GROUP,
  'a settlement that is answered batch_not_found spoils none that goes with it',
  async (stage) => {
    const [bad, good] = await stage.enqueueAll([{ follow_up: { queue: stage.queue } }, { result: 'kept' }]);
    stage.proxy.harm((one) =>
      settledIn(one).some(([verb, id]) => verb === 'ack' && id === bad)
        ? { status: 404, code: 'batch_not_found' }
        : undefined,
    );
    const worker = stage.start({ concurrency: 2 });
    expect((await stage.reaches(bad as string, 'dead')).last_error).toMatch(/the ack was refused/);
    expect((await stage.reaches(good as string, 'completed')).result).toBe('kept');
    expect(stage.starts(good as string)).toBe(1);
    expect(worker.isOver).toBe(false);
  },
  { needs: ['follow-ups'] },
);
