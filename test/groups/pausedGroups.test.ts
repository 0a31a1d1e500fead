import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openClient } from '../support/database.ts';
import { expectProblem, moves } from '../support/moves.ts';
import { type Service, startService } from '../support/service.ts';
import { databaseOf, onAll } from '../support/severalDatabases.ts';

let service: Service;
let at: ReturnType<typeof moves>;
let queue: string;
beforeAll(async () => {
  service = await startService();
  at = moves(service);
});
beforeEach(() => {
  queue = at.newQueue();
});
afterAll(() => service.stop());

const path = (group: string) => `/queues/${queue}/groups/${encodeURIComponent(group)}`;
const pause = (group = 'g') => at.ok('POST', `${path(group)}/pause`);
const resume = (group = 'g') => at.ok('POST', `${path(group)}/resume`);
const add = (payload: unknown, more: object = {}) => at.enqueue({ queue, group: 'g', payload, ...more });
const codeOf = async (id: string) => (await at.ok('GET', `/jobs/${id}/explain`)).code;
const claimed = async (wish: object = {}) => (await at.claim(queue, wish)).map(({ payload }) => payload);

/** Claims and acks until nothing comes for a moment. */
async function drained(): Promise<unknown[]> {
  const payloads: unknown[] = [];
  for (;;) {
    const [job] = await at.claim(queue, { wait_seconds: 1 });
    if (!job) return payloads;
    payloads.push(job.payload);
    await at.settle('ack', job);
  }
}

describe('a paused group', () => {
  test('accepts jobs and hands out none, while other groups and jobs without one go on', async () => {
    const first = await add(1);
    expect(await pause()).toEqual({ queue, group: 'g', paused: true });
    const second = await add(2);
    await at.enqueueAll([
      { queue, group: 'h', payload: 'h' },
      { queue, payload: 'none' },
    ]);
    expect((await claimed({ limit: 10 })).sort()).toEqual(['h', 'none']);
    for (const { id } of [first, second]) {
      expect(await at.get(id)).toMatchObject({ state: 'blocked' });
      expect(await codeOf(id)).toBe('group_paused');
    }
    expect(await resume()).toEqual({ queue, group: 'g', paused: false });
    expect(await drained()).toEqual([1, 2]);
  });

  test('that was empty takes jobs, each way that they come, and keeps their order', async () => {
    await pause();
    await add(1);
    await at.enqueueAll([2, 3].map((payload) => ({ queue, group: 'g', payload })));
    await add(4, { unique_key: 'k' });
    await add(5, { delay_seconds: 0.1 });
    await expect.poll(async () => (await at.ok('GET', `/queues/${queue}`)).counts.blocked).toBe(5);
    expect(await claimed({ wait_seconds: 0.5 })).toEqual([]);
    await resume();
    expect(await drained()).toEqual([1, 2, 3, 4, 5]);
  });

  test.each(['ack', 'nack', 'release'] as const)(
    'lets a leased job go on: after its %s, none is handed out',
    async (verb) => {
      await at.configure(queue, { backoff: { kind: 'constant', base_seconds: 0 } });
      await add(1);
      await add(2);
      const leased = await at.claimOne(queue);
      await pause();
      const answer = await at.settle(verb, leased);
      expect(answer.body.state).toBe(verb === 'ack' ? 'completed' : 'blocked');
      expect(await claimed({ wait_seconds: 0.5 })).toEqual([]);
      await resume();
      expect(await drained()).toEqual(verb === 'ack' ? [2] : [1, 2]);
    },
  );

  test('holds a job whose lease runs out, and one whose backoff is over', async () => {
    await add(1);
    await add('other', { group: 'h' });
    const jobs = await at.claim(queue, { limit: 2 });
    await pause();
    await pause('h');
    await at.settle('extend', jobs[0], { lease_seconds: 0.1 });
    await at.settle('nack', jobs[1], { delay_seconds: 0.1 });
    for (const { id } of jobs) await at.reaches(id, 'blocked');
    await resume();
    await resume('h');
    expect((await drained()).sort()).toEqual([1, 'other']);
  });

  test('holds a job that is retried, and one whose run_at is set to now', async () => {
    const delayed = await add(1);
    const leased = await at.claimOne(queue);
    await at.settle('nack', leased, { delay_seconds: 1000 });
    await pause();
    expect(await at.ok('POST', `/jobs/${delayed.id}/retry`)).toMatchObject({ state: 'blocked' });
    expect(
      await at.ok('PATCH', `/jobs/${delayed.id}`, {
        run_at: new Date(Date.now() + 86_400_000).toISOString(),
      }),
    ).toMatchObject({
      state: 'scheduled',
    });
    expect(await at.ok('PATCH', `/jobs/${delayed.id}`, { run_at: '2020-01-01T00:00:00Z' })).toMatchObject({
      state: 'blocked',
    });
    await resume();
    expect(await drained()).toEqual([1]);
  });

  test('goes on with the next job when its first one is cancelled meanwhile', async () => {
    const first = await add(1);
    await add(2);
    await pause();
    await at.ok('DELETE', `/jobs/${first.id}`);
    expect(await claimed({ wait_seconds: 0.5 })).toEqual([]);
    await resume();
    expect(await drained()).toEqual([2]);
  });

  test('is told with its queue, also when its name is odd, and only once', async () => {
    const odd = 'a/b ?%,"{}\\é😀';
    for (let i = 0; i < 2; i++) await pause(odd);
    await pause();
    expect((await at.ok('GET', `/queues/${queue}`)).paused_groups).toEqual([odd, 'g']);
    for (let i = 0; i < 2; i++) await resume(odd);
    await resume();
    expect(await at.ok('GET', `/queues/${queue}`)).not.toHaveProperty('paused_groups');
  });

  test('a claim that waits is served at the resume', async () => {
    await add(1);
    await pause();
    const waiting = claimed({ wait_seconds: 20 });
    await resume();
    expect(await waiting).toEqual([1]);
  });

  test('a group is paused and resumed while a transaction that enqueues into its queue is open', async () => {
    await add(1);
    const opened = at.queueBeside(queue);
    await at.enqueue({ queue: opened });
    await pause();
    expect(await claimed()).toEqual([]);
    await resume();
    expect(await drained()).toEqual([1]);
  });
});

describe('what cannot be', () => {
  test('whose job somebody holds is told that it may be paused, and a repeat finishes that', async () => {
    const first = await add(1);
    const holder = await openClient(await databaseOf(service.databaseUrl, queue));
    await holder.query('begin');
    await holder.query(`select from dibs.jobs where id = '${first.id}' for update`);
    const answer = await service.call('POST', `${path('g')}/pause`);
    expectProblem(answer, 503, 'unavailable');
    expect(answer.body).toMatchObject({
      outcome: 'unknown',
      detail: expect.stringContaining('Some of it may be done.'),
    });
    await holder.query('rollback');
    await holder.end();
    await pause();
    expect(await claimed()).toEqual([]);
    await resume();
    expect(await claimed()).toEqual([1]);
  });

  test('more than 1,000 paused groups: 409 too_many_paused_groups', async () => {
    await pause();
    await onAll(
      service.databaseUrl,
      `update dibs.queues set paused_groups = array(select 'x' || n from generate_series(1, 1000) n) where name = $1`,
      [queue],
    );
    expectProblem(await service.call('POST', `${path('new')}/pause`), 409, 'too_many_paused_groups');
    expect(await pause('x7')).toMatchObject({ paused: true });
    await resume('x7');
    await pause('new');
  });

  test('a name that no group can have: 400; a resume of no queue: 404', async () => {
    expectProblem(await service.call('POST', `${path('x'.repeat(257))}/pause`), 400, 'invalid_request');
    expectProblem(
      await service.call('POST', `/queues/${at.newQueue()}/groups/g/resume`),
      404,
      'queue_not_found',
    );
  });
});

test('pauses and resumes under load: nothing is handed out while the group is paused, and the order stays', async () => {
  const PAYLOADS = 300;
  let isOver = false;
  /** Odd from the answer of a pause to the call of the resume. */
  let phase = 0;
  const seen: number[] = [];
  const wrong: unknown[] = [];
  async function work(): Promise<void> {
    while (!isOver) {
      const before = phase;
      const [job] = await at.claim(queue, { wait_seconds: 0.2 });
      if (!job) continue;
      if (before % 2 === 1 && phase === before) wrong.push(job.payload);
      const isBack = job.payload % 7 === 0 && job.deliveries === 1;
      if (!isBack) seen.push(job.payload);
      await at.settle(isBack ? 'release' : 'ack', job);
    }
  }
  async function produce(): Promise<void> {
    for (let payload = 0; payload < PAYLOADS; payload++) await add(payload);
  }
  async function pauseAndResume(): Promise<void> {
    while (seen.length < PAYLOADS) {
      await pause();
      phase++;
      await new Promise((go) => setTimeout(go, 30));
      phase++;
      await resume();
      await new Promise((go) => setTimeout(go, 60));
    }
    isOver = true;
  }
  await Promise.all([work(), work(), work(), produce(), pauseAndResume()]);
  expect(wrong).toEqual([]);
  expect(seen).toEqual([...Array(PAYLOADS).keys()]);
});
