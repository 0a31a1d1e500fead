import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Job } from '../../src/job.ts';
import type { NewJob } from '../../src/verbs/enqueue.ts';
import { openTransaction } from '../support/beside.ts';
import { recordLifetimes } from '../support/lifetimes.ts';
import { eventually, expectProblem, moves } from '../support/moves.ts';
import { type Service, startService } from '../support/service.ts';
import { databaseOf, onAll } from '../support/severalDatabases.ts';

const PRODUCERS = 32;

let replicas: Service[];
let at: ReturnType<typeof moves>;
beforeAll(async () => {
  const first = await startService();
  const { databaseUrl } = first;
  replicas = [first, await startService({ databaseUrl }), await startService({ databaseUrl })];
  at = moves(first);
});
afterAll(async () => {
  for (const replica of replicas.toReversed()) await replica.stop();
});

const replica = (i: number) => replicas[i % replicas.length] as Service;
const post = (i: number, job: object) => replica(i).call('POST', '/jobs', job);
const all = <T>(count: number, work: (i: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, i) => work(i)));
const jobsIn = async (queue: string) => (await at.ok('GET', `/jobs?queue=${queue}&limit=1000`)).jobs;
const url = () => replica(0).databaseUrl;

describe('32 concurrent producers with one key', () => {
  test('enqueue one job', async () => {
    for (let i = 0; i < 6; i++) {
      const queue = at.newQueue();
      const answers = await all(PRODUCERS, (i) => post(i, { queue, unique_key: 'k', payload: i }));
      expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(PRODUCERS - 1);
      expect(new Set(answers.map(({ body }) => body.id)).size).toBe(1);
      expect(await jobsIn(queue)).toHaveLength(1);
    }
  });

  test('enqueue one job for each key, in batches of many keys in any order', async () => {
    const queue = at.newQueue();
    const keys = Array.from({ length: 50 }, (_, i) => `k${i}`);
    const batches = await all(PRODUCERS, (i) => {
      const rotated = [...keys.slice(i), ...keys.slice(0, i)];
      const jobs = (i % 2 ? rotated : rotated.toReversed()).map((unique_key) => ({ queue, unique_key }));
      return replica(i).call('POST', '/jobs/batch', { jobs });
    });
    for (const { status } of batches) expect(status).toBe(201);
    const inserted = batches.flatMap(({ body }) =>
      body.jobs.filter((job: { deduplicated?: boolean }) => !job.deduplicated),
    );
    expect(inserted).toHaveLength(keys.length);
    expect((await jobsIn(queue)).map((job: { unique_key: string }) => job.unique_key).sort()).toEqual(
      keys.toSorted(),
    );
  });

  // These call the engines. A request over HTTP takes some milliseconds of this process.
  const engine = (i: number) => replica(i).engine;
  const enqueue = (i: number, jobs: NewJob[]) => engine(i).enqueue({ jobs, at: () => '' });
  const workWhile = async (i: number, queue: string, isOn: () => boolean, done: (id: string) => void) => {
    while (isOn())
      for (const job of await engine(i).claim({ queues: [queue], wait_seconds: 0.1 })) {
        done(job.id);
        await engine(i).ack({ id: job.id, lease_token: job.lease_token, at: () => '' });
      }
  };

  test('enqueue a job only when the one before is finished, while workers ack at once', async () => {
    const queue = at.newQueue();
    const lifetimes = recordLifetimes();
    const inserted = new Set<string>();
    const answered = new Set<string>();
    const acked = new Set<string>();
    const until = performance.now() + 2000;
    // Enough jobs for races to happen.
    const isOn = () => performance.now() < until || acked.size <= 20;
    let endAt = Number.POSITIVE_INFINITY;
    const produce = async (i: number) => {
      const job = { queue, unique_key: 'k' };
      while (isOn()) {
        // Some enqueue into two queues, in one transaction.
        const [first] = await enqueue(i, i % 8 === 0 ? [job, { queue: `${queue}.b` }] : [job]);
        const { id, deduplicated } = first as Job;
        answered.add(id);
        if (deduplicated) continue;
        lifetimes.seen(id);
        inserted.add(id);
      }
    };
    const work = (i: number) =>
      workWhile(
        i,
        queue,
        () => performance.now() < endAt,
        (id) => {
          lifetimes.seen(id);
          lifetimes.finishing(id);
          acked.add(id);
        },
      );
    const produced = all(PRODUCERS, produce).finally(() => {
      endAt = performance.now() + 500;
    });
    await Promise.all([produced, all(6, work)]);
    expect(lifetimes.overlaps()).toEqual([]);
    expect([...acked].sort()).toEqual([...inserted].sort());
    expect([...answered].filter((id) => !inserted.has(id))).toEqual([]);
  });

  test('enqueue one job in each window, even when it is finished at once', async () => {
    const queue = at.newQueue();
    const WINDOW_MS = 500;
    const started = performance.now();
    const until = started + 2000;
    const inserted = new Set<string>();
    const produce = async (i: number) => {
      while (performance.now() < until) {
        const wish = { queue, unique_key: 'k', unique_for_seconds: WINDOW_MS / 1000 };
        const [job] = await enqueue(i, [wish]);
        if (!job?.deduplicated) inserted.add(job?.id as string);
      }
    };
    await Promise.all([
      all(PRODUCERS, produce),
      all(3, (i) =>
        workWhile(
          i,
          queue,
          () => performance.now() < until,
          () => undefined,
        ),
      ),
    ]);
    const took = performance.now() - started;
    expect(inserted.size).toBeGreaterThan(1);
    expect(inserted.size).toBeLessThanOrEqual(Math.floor(took / WINDOW_MS) + 1);
  });
});

test('the checker finds two jobs that existed at once', () => {
  const lifetimes = recordLifetimes();
  lifetimes.seen('a');
  lifetimes.finishing('a');
  lifetimes.seen('b');
  expect(lifetimes.overlaps()).toEqual([]);
  lifetimes.seen('c');
  expect(lifetimes.overlaps()).toEqual(['job c existed while job b was not finished']);
});

/** Waits until one transaction waits for the end of another. */
const oneWaitsForAnother = () =>
  eventually(async () => {
    const waiting = await onAll(
      url(),
      `select from pg_stat_activity where datname = current_database() and wait_event = 'transactionid'`,
    );
    expect(waiting).toHaveLength(1);
  });

test('a job that is enqueued and acked between the look-up of the key and the insert still holds its window', async () => {
  const queue = at.newQueue();
  await at.enqueue({ queue });
  const first = await openTransaction(await databaseOf(url(), queue));
  const [job] = await first.query<{ id: string }>(
    `select dibs.enqueue($1, unique_key => 'k', unique_for_seconds => 60) as id`,
    [queue],
  );
  const second = await openTransaction(await databaseOf(url(), queue));
  const answer = second.query<{ id: string }>(`select dibs.enqueue($1, unique_key => 'k') as id`, [queue]);
  await oneWaitsForAnother();
  // As if it had been committed, claimed and acked while the other transaction was inserting.
  await first.query('delete from dibs.jobs where id = $1', [job?.id]);
  await first.end('commit');
  expect((await answer)[0]?.id).toBe(job?.id);
  await second.end('commit');
  expect(await jobsIn(queue)).toHaveLength(1);
});

test('the same for a request: its insert is undone, and it is answered with the job of the window', async () => {
  const queue = at.newQueue();
  await at.enqueue({ queue });
  const first = await openTransaction(await databaseOf(url(), queue));
  const [job] = await first.query<{ id: string }>(
    `select dibs.enqueue($1, unique_key => 'k', unique_for_seconds => 60) as id`,
    [queue],
  );
  const answer = replica(0).call('POST', '/jobs/batch', {
    jobs: [{ queue, unique_key: 'other' }, { queue, unique_key: 'k' }, { queue }],
  });
  await oneWaitsForAnother();
  await first.query('delete from dibs.jobs where id = $1', [job?.id]);
  await first.end('commit');
  const { status, body } = await answer;
  expect(status).toBe(201);
  expect(body.jobs.map((one: { deduplicated?: boolean }) => one.deduplicated ?? false)).toEqual([
    false,
    true,
    false,
  ]);
  expect(body.jobs[1]).toMatchObject({ id: job?.id, state: 'completed' });
  expect(await jobsIn(queue)).toHaveLength(3);
});

describe('while an open transaction has enqueued with a key', () => {
  const holding = async (queue: string, keys = ['held']) => {
    const user = await openTransaction(await databaseOf(url(), queue));
    const ids: string[] = [];
    for (const key of keys) {
      const [row] = await user.query<{ id: string }>('select dibs.enqueue($1, unique_key => $2) as id', [
        queue,
        key,
      ]);
      ids.push(row?.id as string);
    }
    return { ...user, ids };
  };

  test('other enqueues with the key wait for its end, and get 200 with its job when it commits', async () => {
    const queue = at.newQueue();
    await at.enqueue({ queue });
    const user = await holding(queue);
    const answers = all(12, (i) => post(i, { queue, unique_key: 'held' }));
    await sleep(300);
    await user.end('commit');
    for (const { status, body } of await answers)
      expect({ status, id: body.id }).toEqual({ status: 200, id: user.ids[0] });
  });

  test('one of the other enqueues takes the key when it is rolled back', async () => {
    const queue = at.newQueue();
    await at.enqueue({ queue });
    const user = await holding(queue);
    const answers = all(12, (i) => post(i, { queue, unique_key: 'held' }));
    await sleep(300);
    await user.end('rollback');
    const statuses = (await answers).map(({ status }) => status).sort();
    expect(statuses).toEqual([...Array(11).fill(200), 201]);
  });

  test('other enqueues with the key are 503 unavailable when it stays open, and enqueue nothing', async () => {
    const queue = at.newQueue();
    await at.enqueue({ queue });
    const user = await holding(queue, ['held', 'held.2']);
    const requests = [
      post(0, { queue, unique_key: 'held' }),
      replica(1).call('POST', '/jobs/batch', {
        jobs: [{ queue, unique_key: 'held' }, { queue: at.newQueue() }],
      }),
      replica(2).call('POST', '/jobs', { queue, unique_key: 'held.2' }, { 'idempotency-key': queue }),
    ];
    for (const answer of await Promise.all(requests)) {
      expectProblem(answer, 503, 'unavailable');
      expect(answer.headers['retry-after']).toBe('1');
    }
    await user.end('rollback');
    expect(await jobsIn(queue)).toHaveLength(1);
  });

  test('nothing else waits: enqueues with other keys or none, batches, claims, acks', async () => {
    const queue = at.newQueue();
    await at.enqueue({ queue, payload: 'first' });
    const keys = Array.from({ length: 20 }, (_, i) => `held.${i}`);
    const user = await holding(queue, keys);
    // On a slow machine they are refused before all of the following is done, and try again.
    const waiting = keys.map(async (unique_key, i) => {
      for (;;) {
        const answer = await post(i, { queue, unique_key });
        if (answer.status !== 503) return answer;
      }
    });
    // All of this is done while the keys are held.
    for (let run = 0; run < 5; run++) {
      const answers = await all(10, (i) => post(i, { queue, unique_key: `free.${run}.${i}` }));
      for (const { status } of answers) expect(status).toBe(201);
      const mixed = { jobs: [{ queue, unique_key: `batch.${run}` }, { queue: `${queue}.other` }] };
      expect((await replica(run).call('POST', '/jobs/batch', mixed)).status).toBe(201);
      await at.enqueue({ queue });
    }
    const jobs = await at.claim(queue, { limit: 1000 });
    expect(jobs).toHaveLength(1 + 5 * 12);
    const acks = await Promise.all(jobs.map((job) => at.settle('ack', job)));
    for (const { status } of acks) expect(status).toBe(200);
    await user.end('commit');
    for (const [i, { status, body }] of (await Promise.all(waiting)).entries())
      expect({ status, id: body.id }).toEqual({ status: 200, id: user.ids[i] });
  });

  test('a redrive leaves out the dead job with that key, and a retry of it is 503', async () => {
    const queue = at.newQueue();
    const dead = await at.enqueueAll([
      { queue, unique_key: 'held', payload: 1 },
      { queue, payload: 2 },
    ]);
    for (const job of await at.claim(queue, { limit: 2 })) await at.settle('nack', job, { retry: false });
    const user = await holding(queue);
    expect(await at.ok('POST', `/queues/${queue}/redrive`)).toEqual({ count: 1 });
    expect(await at.drain(queue)).toEqual([2]);
    expectProblem(await replica(0).call('POST', `/jobs/${dead[0].id}/retry`), 503, 'unavailable');
    await user.end('rollback');
    expect(await at.ok('POST', `/queues/${queue}/redrive`)).toEqual({ count: 1 });
  });

  test('a late release of a dead job with that key leaves it dead', async () => {
    const queue = at.newQueue();
    await at.configure(queue, { max_attempts: 1 });
    const job = await at.enqueue({ queue, unique_key: 'held' });
    const lease = await at.claimOne(queue, { lease_seconds: 0.1 });
    await at.reaches(job.id, 'dead');
    const user = await holding(queue);
    const answer = await at.settle('release', lease);
    expect({ status: answer.status, state: answer.body.state }).toEqual({ status: 200, state: 'dead' });
    await user.end('commit');
  });

  test('its queue cannot be deleted: 503, and 204 when the transaction has ended', async () => {
    const queue = at.newQueue();
    await at.configure(queue, {});
    const user = await holding(queue);
    expectProblem(await replica(0).call('DELETE', `/queues/${queue}`), 503, 'unavailable');
    await at.configure(queue, { max_attempts: 7 });
    await user.end('rollback');
    expect((await replica(0).call('DELETE', `/queues/${queue}`)).status).toBe(204);
  });

  test('and created the queue, other enqueues into that queue are 503, and those into other queues do not wait', async () => {
    const queue = at.newQueue();
    const user = await holding(queue);
    const waiting = all(30, (i) => post(i, { queue }));
    const others = await all(30, (i) => post(i, { queue: `${queue}.${i}` }));
    for (const { status } of others) expect(status).toBe(201);
    for (const answer of await waiting) expectProblem(answer, 503, 'unavailable');
    await user.end('commit');
    expect((await post(0, { queue })).status).toBe(201);
    expect(await jobsIn(queue)).toHaveLength(2);
  });
});

test('redrives, retries and enqueues at once leave one unfinished job for each key, and none of them fails', async () => {
  const queue = at.newQueue();
  const KEYS = 5;
  for (let i = 0; i < 40; i++) {
    await at.enqueue({ queue, unique_key: `k${i % KEYS}` });
    await at.settle('nack', await at.claimOne(queue), { retry: false });
  }
  const dead = (await jobsIn(queue)).map((job: { id: string }) => job.id);
  const answers = await all(40, async (i) => {
    if (i % 4 === 0) return replica(i).call('POST', `/queues/${queue}/redrive`);
    if (i % 4 === 1) return replica(i).call('POST', `/jobs/${dead[i]}/retry`);
    return post(i, { queue, unique_key: `k${i % KEYS}` });
  });
  for (const { status, body } of answers) expect([200, 201, 409], JSON.stringify(body)).toContain(status);
  const keys = (await jobsIn(queue))
    .filter((job: { state: string }) => job.state !== 'dead')
    .map((job: { unique_key: string }) => job.unique_key);
  expect(keys.toSorted()).toEqual(Array.from({ length: KEYS }, (_, i) => `k${i}`));
  await eventually(async () => expect(replicas.flatMap(({ errors }) => errors)).toEqual([]));
});
