import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openTransaction } from '../support/beside.ts';
import { eventually, expectProblem, moves } from '../support/moves.ts';
import { recordingEngine } from '../support/recordingEngine.ts';
import { type Service, startService } from '../support/service.ts';
import { databaseOf } from '../support/severalDatabases.ts';

/** A lease that the sweeper ended: it made the job dead. */
interface Late {
  id: string;
  lease_token: string;
}

/** 5 s are promised. The rest is for a busy machine. One by one, the last of them took 16 s. */
const ANSWERED_MS = 12_000;

let service: Service;
let at: ReturnType<typeof moves>;
beforeAll(async () => {
  service = await startService();
  at = moves(service);
});
afterAll(() => service.stop());

const keys = (count: number) => Array.from({ length: count }, (_, i) => `k${i}`);

/** Enqueues a job with each key, leases all of them, and waits until the sweeper has made them dead. */
async function lateOnes(queue: string, unique_keys: string[]): Promise<Late[]> {
  await at.configure(queue, { max_attempts: 1 });
  await at.enqueueAll(unique_keys.map((unique_key) => ({ queue, unique_key })));
  const leases = await at.claim(queue, { limit: 1000, lease_seconds: 0.1 });
  expect(leases).toHaveLength(unique_keys.length);
  await eventually(async () => {
    const { jobs } = await at.ok('GET', `/jobs?queue=${queue}&state=dead&limit=1000`);
    const dead = new Set(jobs.map(({ id }: Late) => id));
    expect(leases.filter(({ id }) => !dead.has(id))).toEqual([]);
  });
  return leases.map(({ id, lease_token }) => ({ id, lease_token }));
}

/** An open transaction that has enqueued with these keys. */
async function holding(queue: string, held: string[]) {
  const user = await openTransaction(await databaseOf(service.databaseUrl, queue));
  await user.query('select dibs.enqueue($1, unique_key => key) from unnest($2::text[]) key', [queue, held]);
  return user;
}

async function timed<T>(work: Promise<T>): Promise<{ done: T; ms: number }> {
  const started = performance.now();
  return { done: await work, ms: performance.now() - started };
}

describe('late settlements of dead jobs with unique keys', () => {
  test.each(['nacks', 'releases'] as const)(
    'go together: 1000 %s take no statement for each',
    async (verb) => {
      const queue = at.newQueue();
      const late = await lateOnes(queue, keys(1000));
      const { engine, roundTrips, stop } = await recordingEngine(service.databaseUrl);
      const settled = (await engine.settle({ [verb]: late }))[verb];
      // One by one they were thousands. Duties run meanwhile.
      expect(roundTrips.flat().length).toBeLessThan(200);
      const state = verb === 'nacks' ? 'dead' : 'ready';
      expect(settled).toHaveLength(1000);
      for (const one of settled) expect(one).toMatchObject({ result: { state } });
      await stop();
    },
  );

  test('behind an open transaction that holds their keys, hold up no other settlement, and are answered in time', async () => {
    const [queue, other] = [at.newQueue(), at.newQueue()];
    const late = await lateOnes(queue, keys(200));
    const lateElsewhere = await lateOnes(other, ['free']);
    const user = await holding(queue, keys(200));
    const releases = late.map(({ id, lease_token }) =>
      timed(service.call('POST', `/jobs/${id}/release`, { lease_token })),
    );
    await sleep(20);
    const elsewhere = await timed(at.settle('release', lateElsewhere[0]));
    expect(elsewhere.done.body.state).toBe('ready');
    await at.enqueueAll(Array(40).fill({ queue }));
    let slowestMs = elsewhere.ms;
    for (const [i, lease] of (await at.claim(queue, { limit: 40 })).entries()) {
      const verb = (['ack', 'nack', 'release'] as const)[i % 3] as 'ack';
      const { done, ms } = await timed(at.settle(verb, lease));
      // A machine that is too busy may answer 503.
      expect([200, 503], done.text).toContain(done.status);
      slowestMs = Math.max(slowestMs, ms);
    }
    // Behind the late ones they waited 16 s.
    expect(slowestMs).toBeLessThan(ANSWERED_MS);
    const answers = await Promise.all(releases);
    for (const { done, ms } of answers) {
      if (done.status === 503) expectProblem(done, 503, 'unavailable');
      else expect({ status: done.status, state: done.body.state }).toEqual({ status: 200, state: 'dead' });
      expect(ms).toBeLessThan(ANSWERED_MS);
    }
    await user.end('rollback');
  });

  test('come back although the keys of others among them are taken, or held by an open transaction', async () => {
    const queue = at.newQueue();
    const late = await lateOnes(queue, keys(40));
    await at.enqueueAll([
      { queue, unique_key: 'k3' },
      { queue, unique_key: 'k17' },
    ]);
    const user = await holding(queue, ['k20', 'k31']);
    const { releases } = await at.ok('POST', '/jobs/settle', { releases: late });
    const states = releases.map(({ state }: { state: string }) => state);
    expect(states.flatMap((state: string, i: number) => (state === 'ready' ? [] : [i]))).toEqual([
      3, 17, 20, 31,
    ]);
    await user.end('rollback');
  });

  test('of one key bring back one job: the others stay dead', async () => {
    const queue = at.newQueue();
    const late: Late[] = [];
    for (let i = 0; i < 3; i++) late.push(...(await lateOnes(queue, ['k'])));
    const { releases } = await at.ok('POST', '/jobs/settle', { releases: late });
    expect(releases.map(({ state }: { state: string }) => state).sort()).toEqual(['dead', 'dead', 'ready']);
  });
});
