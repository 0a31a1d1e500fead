import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually, expectProblem, moves } from '../support/moves.ts';
import { type Service, startService } from '../support/service.ts';
import { onAll } from '../support/severalDatabases.ts';
import { enough } from '../support/until.ts';

// biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every kind.
type Json = any;

let service: Service;
let other: Service;
let at: ReturnType<typeof moves>;
beforeAll(async () => {
  service = await startService();
  other = await startService({ databaseUrl: service.databaseUrl });
  at = moves(service);
});
afterAll(async () => {
  await other.stop();
  await service.stop();
});

const sql = (text: string, ...values: unknown[]) => onAll(service.databaseUrl, text, values);
const isExpired = (id: string) =>
  eventually(async () => {
    const job = await at.get(id);
    expect(job).toMatchObject({ state: 'dead', last_error: 'expired', lease_expires_at: null });
    expect(job.finished_at).not.toBeNull();
    return job;
  });

/** Sets the expiry of a job to now. */
const expireNow = (id: string) => sql('update dibs.jobs set expires_at = now() where id = $1', id);

async function leased(lease_seconds = 30, more: object = {}): Promise<Json> {
  const queue = at.newQueue();
  await at.enqueue({ queue, expires_in_seconds: 3600, ...more });
  const job = await at.claimOne(queue, { lease_seconds });
  await expireNow(job.id);
  return job;
}

describe('a job that expires', () => {
  test('is claimed like any other before its expiry', async () => {
    const queue = at.newQueue();
    const { id } = await at.enqueue({ queue, expires_in_seconds: 3600 });
    expect((await at.claimOne(queue)).id).toBe(id);
  });

  test('becomes dead with last_error "expired" when it was not claimed by then', async () => {
    const queue = at.newQueue();
    const { id, created_at } = await at.enqueue({ queue, expires_in_seconds: 0.3 });
    const dead = await isExpired(id);
    expect(Date.parse(dead.finished_at) - Date.parse(created_at)).toBeGreaterThanOrEqual(299);
    expect(dead).toMatchObject({ attempt: 0, deliveries: 0 });
    expect(await at.claim(queue)).toEqual([]);
  });

  test('becomes dead in a paused queue, too', async () => {
    const queue = at.newQueue();
    await at.ok('POST', `/queues/${queue}/pause`);
    await isExpired((await at.enqueue({ queue, expires_in_seconds: 0.1 })).id);
  });

  test('becomes dead during its delay, when the delay is longer', async () => {
    const { id, state } = await at.enqueue({ delay_seconds: 3600, expires_in_seconds: 0.1 });
    expect(state).toBe('scheduled');
    await isExpired(id);
  });

  test('is not claimed after its expiry, even before the sweeper has found it', async () => {
    const queue = at.newQueue();
    for (let i = 0; i < 20; i++) {
      const { id } = await at.enqueue({ queue, expires_in_seconds: 3600 });
      await expireNow(id);
      expect(await at.claim(queue)).toEqual([]);
    }
  });

  test('does not delay the jobs behind it', async () => {
    const queue = at.newQueue();
    await at.enqueueAll(Array.from({ length: 500 }, () => ({ queue, expires_in_seconds: 0.001 })));
    const { id } = await at.enqueue({ queue });
    expect((await at.claimOne(queue)).id).toBe(id);
  });

  test('stays with the worker that has it', async () => {
    const job = await leased();
    await sleep(600);
    expect(await at.get(job.id)).toMatchObject({ state: 'leased' });
    expect((await at.settle('extend', job, { lease_seconds: 60 })).status).toBe(200);
    expect((await at.settle('ack', job)).status).toBe(200);
  });
});

describe('a job that comes back after its expiry', () => {
  const ways: Record<string, (job: Json) => Promise<unknown>> = {
    'by a release': (job) => at.settle('release', job),
    'by a release with a delay': (job) => at.settle('release', job, { delay_seconds: 3600 }),
    'by a nack': (job) => at.settle('nack', job, { delay_seconds: 0 }),
    'by a nack with a backoff': (job) => at.settle('nack', job, { delay_seconds: 3600 }),
  };
  test.each(Object.entries(ways))('%s is not claimed again, and becomes dead', async (_, give) => {
    const job = await leased();
    await give(job);
    expect(await at.claim(job.queue)).toEqual([]);
    expect(await isExpired(job.id)).toMatchObject({ deliveries: 1 });
  });

  test('because its lease ran out is not claimed again, and becomes dead', async () => {
    const job = await leased(0.1);
    expect(await isExpired(job.id)).toMatchObject({ deliveries: 1 });
    // The work was done, and no other worker has the job.
    expect((await at.settle('ack', job)).status).toBe(200);
  });

  test('long after it becomes dead, too, although its expiry is before the scan horizon', async () => {
    const job = await leased();
    await sql(`update dibs.jobs set expires_at = now() - interval '1 hour' where id = $1`, job.id);
    await sleep(1000);
    await at.settle('release', job);
    await isExpired(job.id);
  });
});

describe('in a group', () => {
  test('a head that expires is followed by the next job', async () => {
    const queue = at.newQueue();
    const [head, next] = await at.enqueueAll([
      { queue, group: 'g', expires_in_seconds: 0.2 },
      { queue, group: 'g' },
    ]);
    await at.ok('POST', `/queues/${queue}/pause`);
    await isExpired(head.id);
    await at.ok('POST', `/queues/${queue}/resume`);
    expect((await at.claimOne(queue, { wait_seconds: 20 })).id).toBe(next.id);
  });

  test('a job that expires behind the head leaves the head and the others as they are', async () => {
    const queue = at.newQueue();
    const [head, expiring, last] = await at.enqueueAll(
      [{}, { expires_in_seconds: 0.2 }, {}].map((job) => ({ queue, group: 'g', ...job })),
    );
    await isExpired(expiring.id);
    const job = await at.claimOne(queue);
    expect(job.id).toBe(head.id);
    expect(await at.claim(queue)).toEqual([]);
    await at.settle('ack', job);
    expect((await at.claimOne(queue, { wait_seconds: 20 })).id).toBe(last.id);
  });

  test('a group of which all jobs expired gives a new job at once', async () => {
    const queue = at.newQueue();
    const jobs = await at.enqueueAll(
      Array.from({ length: 50 }, () => ({ queue, group: 'g', expires_in_seconds: 0.1 })),
    );
    for (const { id } of jobs) await isExpired(id);
    const { id } = await at.enqueue({ queue, group: 'g' });
    expect((await at.claimOne(queue)).id).toBe(id);
  });
});

test.each(['retry', 'redrive'])('a %s of an expired job removes its expiry', async (verb) => {
  const queue = at.newQueue();
  const { id } = await at.enqueue({ queue, expires_in_seconds: 0.1 });
  await isExpired(id);
  await at.ok('POST', verb === 'retry' ? `/jobs/${id}/retry` : `/queues/${queue}/redrive`, {});
  await sleep(700);
  expect(await at.claimOne(queue)).toMatchObject({ id, attempt: 1 });
});

test('a retry of a job that is dead for another reason keeps its expiry', async () => {
  const queue = at.newQueue();
  await at.enqueue({ queue, expires_in_seconds: 3600 });
  const job = await at.claimOne(queue);
  await at.settle('nack', job, { retry: false });
  await at.ok('POST', `/jobs/${job.id}/retry`);
  await expireNow(job.id);
  expect(await at.claim(queue)).toEqual([]);
  await isExpired(job.id);
});

test('expires_in_seconds is more than 0 and at most 366 days', async () => {
  for (const expires_in_seconds of [0, -1, 366 * 86_400 + 1, '1', null]) {
    const answer = await service.call('POST', '/jobs', { expires_in_seconds });
    expectProblem(answer, 400, 'invalid_request', '/expires_in_seconds');
  }
  await at.enqueue({ expires_in_seconds: 366 * 86_400 });
});

test('no replica gives a job to a claim after its expiry, however often the job came back', async () => {
  const queue = at.newQueue();
  const end = new Map<string, number>();
  const acked = new Set<string>();
  const starts: { id: string; start: number; deliveries: number }[] = [];
  const random = (most: number) => Math.random() * most;
  let stopping = false;
  /** How long jobs live at most. On a slow machine it grows until jobs come back before their ends. */
  let lifeSeconds = 0.6;

  /** Jobs that still wait for their first claim. */
  const fresh = () => {
    const started = new Set(starts.map(({ id }) => id));
    return [...end].filter(([id, at]) => at > Date.now() && !started.has(id)).length;
  };

  async function produce(): Promise<void> {
    while (!stopping) {
      await sleep(random(60));
      // On a slow machine, jobs that came back would expire behind ever more new ones.
      if (fresh() > 20) continue;
      const times = Array.from({ length: 20 }, () => 0.01 + random(lifeSeconds));
      const jobs = await at.enqueueAll(
        times.map((expires_in_seconds) => ({
          queue,
          expires_in_seconds,
          max_attempts: 1000,
          delay_seconds: Math.random() < 0.3 ? random(0.6) : 0,
        })),
      );
      for (const [i, job] of jobs.entries())
        end.set(job.id, Date.parse(job.created_at) + (times[i] as number) * 1000);
    }
  }

  async function work(replica: Service): Promise<void> {
    const { claim, settle } = moves(replica);
    while (!stopping) {
      for (const job of await claim(queue, { limit: 5, lease_seconds: 1, wait_seconds: 0.1 })) {
        starts.push({
          id: job.id,
          start: Date.parse(job.lease_expires_at) - 1000,
          deliveries: job.deliveries,
        });
        const fate = Math.random();
        if (fate < 0.3) {
          if ((await settle('ack', job)).status === 200) acked.add(job.id);
        } else if (fate < 0.6) await settle('release', job);
        else if (fate < 0.9) await settle('nack', job, { delay_seconds: random(0.3) });
      }
    }
  }

  const everybody = Promise.all([produce(), ...[service, service, other, other].map(work)]);
  const redelivered = () => starts.filter(({ deliveries }) => deliveries > 1).length;
  const slower = setInterval(() => {
    lifeSeconds = Math.min(20, lifeSeconds * 2);
  }, 10_000);
  await Promise.race([enough(5000, () => redelivered() > 20), everybody]);
  clearInterval(slower);
  stopping = true;
  await everybody;
  await eventually(async () => {
    const { counts } = await at.ok('GET', `/queues/${queue}`);
    expect(counts).toMatchObject({ ready: 0, scheduled: 0, leased: 0, dead: end.size - acked.size });
  });
  // Answered times are cut to milliseconds.
  expect(starts.filter(({ id, start }) => start > (end.get(id) as number) + 1)).toEqual([]);
  expect(redelivered()).toBeGreaterThan(20);
  const rows = await sql(`select distinct last_error from dibs.jobs j join dibs.queues q on q.id = j.queue_id
    where q.name = '${queue}'`);
  expect(rows).toEqual([{ last_error: 'expired' }]);
});
