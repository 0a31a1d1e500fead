import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { jobNotFound, unavailable } from '../../src/errors.ts';
import { createRescueGrace } from '../../src/maintenance/rescueGrace.ts';
import type { Db } from '../../src/postgres/pool.ts';
import { createDatabase, onServer } from '../support/database.ts';
import { type Service, startService } from '../support/service.ts';
import { until } from '../support/until.ts';

describe('after no replica was there', () => {
  let database: Awaited<ReturnType<typeof createDatabase>>;
  let replicas: Service[];
  beforeEach(async () => {
    database = await createDatabase();
    replicas = [];
  });
  afterEach(async () => {
    for (const replica of replicas) await replica.stop();
    await database.drop();
  });

  async function start(rescueGraceSeconds: number): Promise<Service> {
    const replica = await startService({ databaseUrl: database.url, rescueGraceSeconds });
    replicas.push(replica);
    return replica;
  }

  async function lease(replica: Service, lease_seconds: number, count = 1) {
    for (let i = 0; i < count; i++) await replica.call('POST', '/jobs', { queue: 'q' });
    const claim = { queues: ['q'], limit: count, lease_seconds };
    const { jobs } = (await replica.call('POST', '/jobs/claim', claim)).body;
    expect(jobs).toHaveLength(count);
    return jobs as { id: string; lease_token: string }[];
  }

  /** A replica that gave leases, and was gone before they ran out. */
  async function goneWith(count: number) {
    const replica = await start(0);
    const leases = await lease(replica, 0.5, count);
    replicas.pop();
    await replica.stop();
    await sleep(600);
    return leases;
  }

  const stateOf = async (replica: Service, id: string) =>
    (await replica.call('GET', `/jobs/${id}`)).body.state as string;

  const now = async () =>
    (await onServer<{ now: Date }>(database.url, 'select now()'))[0]?.now.getTime() as number;

  test('leases that ran out meanwhile are taken back when the grace is over, and an extend counts until then', async () => {
    const [lives, dead] = await goneWith(2);
    const before = await now();
    const replica = await start(5);
    const { id, lease_token } = lives as { id: string; lease_token: string };
    const extended = await replica.call('POST', `/jobs/${id}/extend`, { lease_token, lease_seconds: 600 });
    expect(extended.status).toBe(200);
    const job = await until(async () => {
      const { body } = await replica.call('GET', `/jobs/${dead?.id}`);
      return body.state === 'ready' && body;
    });
    expect(Date.parse(job.run_at) - before).toBeGreaterThanOrEqual(5000);
    expect(job).toMatchObject({ attempt: 1, last_error: 'lease expired' });
    expect(await stateOf(replica, id)).toBe('leased');
    expect((await replica.call('POST', `/jobs/${id}/ack`, { lease_token })).status).toBe(200);
  });

  test('an ack, a nack and a release of such a lease count during the grace', async () => {
    const leases = await goneWith(3);
    const replica = await start(60);
    for (const [i, verb] of ['ack', 'nack', 'release'].entries()) {
      const { id, lease_token } = leases[i] as { id: string; lease_token: string };
      expect((await replica.call('POST', `/jobs/${id}/${verb}`, { lease_token })).status).toBe(200);
    }
  });

  test('explain tells when such a lease is taken back', async () => {
    const [old] = await goneWith(1);
    const replica = await start(60);
    const { body } = await replica.call('GET', `/jobs/${old?.id}/explain`);
    expect(body.code).toBe('leased');
    expect(body.detail).toContain('ran out');
    expect(body.detail).toContain('RESCUE_GRACE_SECONDS');
  });

  test('nobody else gets the job of such a lease during the grace', async () => {
    await goneWith(1);
    const replica = await start(60);
    const claim = { queues: ['q'], wait_seconds: 1.5 };
    expect((await replica.call('POST', '/jobs/claim', claim)).body.jobs).toEqual([]);
  });

  test('a lease that was given after the return is rescued as ever', async () => {
    const [old] = await goneWith(1);
    const replica = await start(60);
    const [young] = await lease(replica, 0.2);
    await until(async () => (await stateOf(replica, young?.id as string)) === 'ready');
    expect(await stateOf(replica, old?.id as string)).toBe('leased');
  });

  test('with RESCUE_GRACE_SECONDS=0 they are taken back at once', async () => {
    const [dead] = await goneWith(1);
    const replica = await start(0);
    await until(async () => (await stateOf(replica, dead?.id as string)) === 'ready');
  });

  test('a replica that starts beside another delays no rescue', async () => {
    const first = await start(0);
    const [dead] = await lease(first, 0.2);
    const second = await start(60);
    await until(async () => (await stateOf(second, dead?.id as string)) === 'ready');
  });
});

describe('a replica', () => {
  /** Its sweeps, and which leases each may take back. */
  function sweeps({ dozedMs = 0, reachable = Promise.resolve(), isReadOnly = () => false } = {}) {
    const times = ['2026-01-01T00:00:10Z', '2026-01-01T00:01:00Z', '2026-01-01T00:02:00Z'];
    const lines: string[] = [];
    const grace = createRescueGrace({
      db: {
        query: async () =>
          isReadOnly() ? [{ is_read_only: true }] : [{ now: times.shift(), is_read_only: false }],
      } as unknown as Db,
      rest: { dozedSince: () => dozedMs, stayAwake: () => undefined },
      seconds: 5,
      reachable,
      log: (line) => lines.push(line),
    });
    const sweep = async () => {
      let from: string | undefined = 'none';
      await grace.sweeping(async (givenFrom) => {
        from = givenFrom;
        return false;
      });
      return from;
    };
    const failing = (error: unknown) => expect(grace.sweeping(() => Promise.reject(error))).rejects.toThrow();
    return { grace, sweep, failing, lines };
  }

  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['performance', 'Date'] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  /** One that has been there for long. */
  async function settled(options = {}) {
    const one = sweeps(options);
    await one.sweep();
    vi.advanceTimersByTime(3000);
    await one.sweep();
    vi.advanceTimersByTime(2001);
    expect(await one.sweep()).toBe(undefined);
    return one;
  }

  test('leaves the leases from before its start alone for the grace, and says nothing of it', async () => {
    const { sweep, lines } = sweeps();
    expect(await sweep()).toBe('2026-01-01T00:00:10Z');
    vi.advanceTimersByTime(3000);
    expect(await sweep()).toBe('2026-01-01T00:00:10Z');
    vi.advanceTimersByTime(2001);
    expect(await sweep()).toBe(undefined);
    expect(lines).toEqual([]);
  });

  test('gives its first grace from when requests can reach it', async () => {
    let reach: () => void = () => undefined;
    const reachable = new Promise<void>((resolve) => {
      reach = resolve;
    });
    const { sweep } = sweeps({ reachable });
    expect(await sweep()).toBe('2026-01-01T00:00:10Z');
    for (let s = 0; s < 9; s++) {
      vi.advanceTimersByTime(1000);
      expect(await sweep()).toBe('2026-01-01T00:00:10Z');
    }
    reach();
    await reachable;
    vi.advanceTimersByTime(3000);
    expect(await sweep()).toBe('2026-01-01T00:00:10Z');
    vi.advanceTimersByTime(2001);
    expect(await sweep()).toBe(undefined);
  });

  test('that found the database away gives the grace when it is back, and says so once while it comes and goes', async () => {
    const { sweep, failing, lines } = await settled();
    await failing(unavailable());
    expect(await sweep()).toBe('2026-01-01T00:01:00Z');
    expect(lines).toHaveLength(1);
    vi.advanceTimersByTime(3000);
    await failing(unavailable());
    expect(await sweep()).toBe('2026-01-01T00:02:00Z');
    expect(lines).toHaveLength(1);
  });

  test('sweeps only when the database takes writes again, and gives the grace then', async () => {
    let isReadOnly = false;
    const { sweep, failing } = await settled({ isReadOnly: () => isReadOnly });
    await failing(unavailable());
    isReadOnly = true;
    expect(await sweep()).toBe('none');
    vi.advanceTimersByTime(3000);
    expect(await sweep()).toBe('none');
    isReadOnly = false;
    expect(await sweep()).toBe('2026-01-01T00:01:00Z');
  });

  test('gives the grace when a look at what is due found the database away', async () => {
    const { sweep, grace } = await settled();
    grace.failed(unavailable());
    expect(await sweep()).toBe('2026-01-01T00:01:00Z');
  });

  test('gives no grace when only a call of its own failed', async () => {
    const { sweep, failing } = await settled();
    await failing(jobNotFound('x'));
    const busy = new Error('timeout exceeded when trying to connect');
    await failing(unavailable(undefined, 'not_done', busy));
    expect(await sweep()).toBe(undefined);
  });

  test('that stood still gives the grace, and one that rested gives none', async () => {
    const still = await settled();
    vi.advanceTimersByTime(20_000);
    expect(await still.sweep()).toBe('2026-01-01T00:01:00Z');
    const rested = await settled({ dozedMs: 20_000 });
    vi.advanceTimersByTime(20_000);
    expect(await rested.sweep()).toBe(undefined);
  });
});
