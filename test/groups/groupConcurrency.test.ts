import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { queueIdOf } from '../../src/ids.ts';
import { planned, valuesOf } from '../../src/postgres/statements.ts';
import { createDatabase, onServer, openClient } from '../support/database.ts';
import { eventually, expectProblem, moves } from '../support/moves.ts';
import { type Service, startService } from '../support/service.ts';
import { databaseOf, onAll, onQueue } from '../support/severalDatabases.ts';

// biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every kind.
type Json = any;

let database: Awaited<ReturnType<typeof createDatabase>>;
let service: Service;
let other: Service;
let at: ReturnType<typeof moves>;
let queue: string;
beforeAll(async () => {
  database = await createDatabase();
  service = await startService({ databaseUrl: database.url });
  other = await startService({ databaseUrl: database.url });
  at = moves(service);
});
beforeEach(async () => {
  queue = at.newQueue();
  await allow(3);
});
afterAll(async () => {
  await service.stop();
  await other.stop();
  await database.drop();
});

const NO_DELAY = { backoff: { kind: 'constant', base_seconds: 0 } };
const allow = (group_concurrency: number) => at.configure(queue, { group_concurrency, ...NO_DELAY });
const add = (payload: unknown, more: object = {}) => at.enqueue({ queue, group: 'g', payload, ...more });
const addAll = (payloads: unknown[], more: object = {}): Promise<Json[]> =>
  at.enqueueAll(payloads.map((payload) => ({ queue, group: 'g', payload, ...more })));
const payloadsOf = (jobs: Json[]) => jobs.map(({ payload }) => payload);

/** Claims one job after the other, until none comes. */
async function claimAll(): Promise<Json[]> {
  const jobs: Json[] = [];
  for (;;) {
    const [job] = await at.claim(queue, { limit: 10 });
    if (!job) return jobs;
    jobs.push(job);
  }
}

describe('with a group_concurrency of 3', () => {
  test('three jobs of a group run at once, begun in order, and one more as each of them ends', async () => {
    const states = (await addAll([1, 2, 3, 4, 5])).map(({ state }) => state);
    expect(states).toEqual(['ready', 'ready', 'ready', 'blocked', 'blocked']);
    const jobs = await claimAll();
    expect(payloadsOf(jobs)).toEqual([1, 2, 3]);
    await at.settle('ack', jobs[1]);
    const [fourth] = await claimAll();
    expect(fourth.payload).toBe(4);
    await at.settle('nack', jobs[0], { retry: false });
    expect(payloadsOf(await claimAll())).toEqual([5]);
  });

  test('jobs that come one by one tell whether they may run', async () => {
    const states = [];
    for (const payload of [1, 2, 3, 4]) states.push((await add(payload)).state);
    expect(states).toEqual(['ready', 'ready', 'ready', 'blocked']);
  });

  test('a claim gets one job of a group, and others get the next at once', async () => {
    await addAll([1, 2, 3]);
    await at.enqueueAll([
      { queue, group: 'h', payload: 'h' },
      { queue, payload: 'none' },
    ]);
    expect(payloadsOf(await at.claim(queue, { limit: 10 })).sort()).toEqual([1, 'h', 'none'].sort());
    const waiting = await Promise.all([1, 2].map(() => at.claim(queue, { limit: 10, wait_seconds: 10 })));
    expect(
      waiting
        .flat()
        .map(({ payload }) => payload)
        .sort(),
    ).toEqual([2, 3]);
  });

  test('claims that wait get a job each when several of a group come', async () => {
    const waiting = [service, other, service].map((one) =>
      one.call('POST', '/jobs/claim', { queues: [queue], wait_seconds: 20 }),
    );
    await addAll([1, 2, 3, 4]);
    const answers = await Promise.all(waiting);
    expect(answers.flatMap(({ body }) => payloadsOf(body.jobs)).sort()).toEqual([1, 2, 3]);
    expect(await claimAll()).toEqual([]);
  });

  test('urgent jobs of a group are passed over by no claim for good', async () => {
    await addAll([1, 2, 3]);
    const [first] = await at.claim(queue, { limit: 10 });
    await at.enqueueAll([4, 5].map((payload) => ({ queue, group: 'h', payload, priority: 5 })));
    const seen = [first.payload];
    for (let i = 0; i < 4; i++) {
      const jobs = await at.claim(queue, { limit: 1, wait_seconds: 10 });
      seen.push(...payloadsOf(jobs));
      await new Promise((resolve) => setTimeout(resolve, 300));
    }
    expect(seen.sort()).toEqual([1, 2, 3, 4, 5]);
  });

  test('fairness keys take turns, and a claim still gets one job of a group', async () => {
    await at.enqueueAll(
      ['a', 'a', 'b', 'b'].map((fairness_key, i) => ({ queue, group: 'g', fairness_key, payload: i })),
    );
    await at.enqueue({ queue, group: 'h', fairness_key: 'b', payload: 'h' });
    const first = await at.claim(queue, { limit: 10 });
    expect(first.map(({ group }: Json) => group).sort()).toEqual(['g', 'h']);
    const rest = await claimAll();
    expect([...payloadsOf(first), ...payloadsOf(rest)].sort()).toEqual([0, 1, 2, 'h'].sort());
  });

  test('a job in backoff keeps its place, as one of the three', async () => {
    await addAll([1, 2, 3, 4]);
    const jobs = await claimAll();
    await at.settle('nack', jobs[0], { delay_seconds: 1 });
    expect(await claimAll()).toEqual([]);
    expect(payloadsOf(await at.claim(queue, { wait_seconds: 20 }))).toEqual([1]);
  });

  test('a job that comes back is begun before those that nobody has begun', async () => {
    await addAll([0, 1, 2, 3]);
    for (const back of [
      (job: Json) => at.settle('release', job),
      (job: Json) => at.settle('nack', job, { delay_seconds: 0 }),
      async (job: Json) => {
        await at.settle('extend', job, { lease_seconds: 0.1 });
        await at.reaches(job.id, 'ready');
      },
      async (job: Json) => {
        await at.settle('release', job, { delay_seconds: 600 });
        await at.ok('POST', `/jobs/${job.id}/retry`);
      },
    ]) {
      const first = await at.claimOne(queue);
      expect(first.payload).toBe(0);
      await back(first);
    }
    expect(payloadsOf(await claimAll())).toEqual([0, 1, 2]);
  });

  test('jobs that come back are begun again in their order', async () => {
    await addAll([0, 1, 2, 3]);
    const [zero, one] = [await at.claimOne(queue), await at.claimOne(queue)];
    await at.settle('release', zero);
    await at.settle('release', one);
    expect(payloadsOf(await claimAll())).toEqual([0, 1, 2]);
  });

  test('a job that comes back while its group is paused is the first one after the resume', async () => {
    await addAll([0, 1, 2, 3]);
    const first = await at.claimOne(queue);
    await at.ok('POST', `/queues/${queue}/groups/g/pause`);
    await at.settle('release', first);
    await at.ok('POST', `/queues/${queue}/groups/g/resume`);
    expect(payloadsOf(await claimAll())).toEqual([0, 1, 2]);
  });

  test('a job that is cancelled, purged, expired or lost makes room', async () => {
    const jobs = await addAll([1, 2, 3, 4, 5, 6]);
    await at.ok('DELETE', `/jobs/${jobs[0].id}`);
    const [second, third, fourth] = await claimAll();
    expect(payloadsOf([second, third, fourth])).toEqual([2, 3, 4]);
    await at.settle('extend', second, { lease_seconds: 0.1 });
    // It comes back, and is one of the three.
    const [again] = await at.claim(queue, { wait_seconds: 20 });
    expect(again.payload).toBe(2);
    await at.settle('release', third);
    await at.ok('POST', `/queues/${queue}/purge`, { states: ['ready'] });
    expect(payloadsOf(await claimAll())).toEqual([5]);
  });

  test('explain says which jobs a blocked one waits for', async () => {
    const jobs = await addAll([1, 2, 3, 4, 5]);
    const reason = await at.ok('GET', `/jobs/${jobs[4].id}/explain`);
    expect(reason).toMatchObject({ code: 'behind_in_group', ahead: 4, blocking_job_id: jobs[0].id });
    expect(reason.detail).toContain('the first of the 3 heads of the group');
  });

  test('a paused group hands out none of them, and a resume gives them back in order', async () => {
    await addAll([1, 2, 3, 4]);
    const path = `/queues/${queue}/groups/g`;
    await at.ok('POST', `${path}/pause`);
    expect(await claimAll()).toEqual([]);
    await at.ok('POST', `${path}/resume`);
    expect(payloadsOf(await claimAll())).toEqual([1, 2, 3]);
  });
});

describe('a group_concurrency that changes', () => {
  test('when it is raised, more jobs begin within a second', async () => {
    await allow(1);
    await addAll([1, 2, 3, 4]);
    expect(payloadsOf(await claimAll())).toEqual([1]);
    await allow(3);
    const more: unknown[] = [];
    await eventually(async () => {
      more.push(...payloadsOf(await claimAll()));
      expect(more).toEqual([2, 3]);
    });
  });

  test('a replica that has not heard of it gives no claim two jobs of a group, and soon all that may run', async () => {
    await allow(1);
    await add('first');
    const claims = async () =>
      (await other.call('POST', '/jobs/claim', { queues: [queue], limit: 10 })).body.jobs;
    expect(payloadsOf(await claims())).toEqual(['first']);
    await allow(3);
    await addAll([1, 2]);
    const found: Json[][] = [];
    await eventually(async () => {
      found.push(await claims());
      expect(payloadsOf(found.flat())).toEqual([1, 2]);
    });
    expect(Math.max(...found.map((jobs) => jobs.length))).toBe(1);
  });

  test('when it is lowered, no further job begins until fewer run', async () => {
    await allow(4);
    await addAll([1, 2, 3, 4, 5, 6]);
    const [first, second] = [await at.claimOne(queue), await at.claimOne(queue)];
    await allow(2);
    // Jobs 3 and 4 were ready.
    expect(await claimAll()).toEqual([]);
    await at.settle('ack', first);
    const [third] = await claimAll();
    expect(third.payload).toBe(3);
    await allow(1);
    await at.settle('ack', second);
    expect(await claimAll()).toEqual([]);
    await at.settle('ack', third);
    expect(payloadsOf(await claimAll())).toEqual([4]);
  });

  const COMING_BACK: Record<string, (job: Json) => Promise<unknown>> = {
    'a nack': (job) => at.settle('nack', job),
    'a release': (job) => at.settle('release', job),
    'the end of its lease': async (job) => {
      await at.settle('extend', job, { lease_seconds: 0.1 });
      await at.reaches(job.id, 'blocked');
    },
  };
  /** Works off what is left, one job after the other. */
  async function workOff(count: number): Promise<unknown[]> {
    const done: unknown[] = [];
    for (let i = 0; i < count; i++) {
      const job = await at.claimOne(queue, { wait_seconds: 20 });
      done.push(job.payload);
      await at.settle('ack', job);
    }
    return done;
  }

  test.each(Object.keys(COMING_BACK))(
    'a job that comes back by %s when too many run waits for its turn, before later ones',
    async (way) => {
      await addAll([1, 2, 3, 4, 5]);
      const jobs = await claimAll();
      await allow(1);
      await COMING_BACK[way]?.(jobs[1]);
      expect(await claimAll()).toEqual([]);
      expect(await at.get(jobs[1].id)).toMatchObject({ state: 'blocked' });
      await at.settle('ack', jobs[0]);
      await at.settle('ack', jobs[2]);
      expect(await workOff(3)).toEqual([2, 4, 5]);
    },
  );

  test('jobs that come back when too many run keep their order', async () => {
    await addAll([1, 2, 3, 4]);
    const jobs = await claimAll();
    await allow(1);
    for (const i of [1, 0, 2]) {
      await at.settle('release', jobs[i]);
      await allow(i === 0 ? 1 : 2);
      await allow(1);
    }
    expect(await workOff(4)).toEqual([1, 2, 3, 4]);
  });

  test('a job that may run again in between goes before later ones that ran all the time', async () => {
    await addAll([1, 2, 3, 4]);
    const jobs = await claimAll();
    await allow(1);
    await at.settle('release', jobs[0]);
    await allow(3);
    await allow(1);
    await at.settle('release', jobs[1]);
    await at.settle('release', jobs[2]);
    expect(await workOff(4)).toEqual([1, 2, 3, 4]);
  });

  const RESTING: Record<string, (job: Json) => Promise<void>> = {
    'before it is lowered': async (job) => {
      await at.settle('nack', job, { delay_seconds: 600 });
      await allow(1);
    },
    'after it was lowered': async (job) => {
      await allow(1);
      await at.settle('nack', job, { delay_seconds: 600 });
    },
  };
  const WAKING: Record<string, (id: string) => Promise<unknown>> = {
    'its time has come': (id) =>
      onAll(database.url, `update dibs.jobs set run_at = now() where id = '${id}'`),
    'it is retried': (id) => at.ok('POST', `/jobs/${id}/retry`),
    'it is replaced': () => add(1, { unique_key: 'k', on_duplicate: 'replace' }),
    'it is changed': (id) => at.ok('PATCH', `/jobs/${id}`, { run_at: new Date(0).toISOString() }),
  };
  test.each(Object.keys(RESTING).flatMap((when) => Object.keys(WAKING).map((how) => [when, how])))(
    'a job that backs off %s holds its group, and is next when %s',
    async (when, how) => {
      await allow(2);
      await add(1, { unique_key: 'k' });
      await addAll([2, 3, 4]);
      const [first, second] = await claimAll();
      await RESTING[when]?.(first);
      await at.settle('ack', second);
      expect(await claimAll()).toEqual([]);
      await WAKING[how]?.(first.id);
      expect(await workOff(3)).toEqual([1, 3, 4]);
    },
  );

  test('a job that backs off and is cancelled after it was lowered makes room', async () => {
    await allow(2);
    await addAll([1, 2, 3]);
    const [first, second] = await claimAll();
    await at.settle('nack', first, { delay_seconds: 600 });
    await allow(1);
    await at.settle('ack', second);
    await at.ok('DELETE', `/jobs/${first.id}`);
    expect(await workOff(1)).toEqual([3]);
  });

  test('it may be raised and lowered again while jobs of before still run', async () => {
    await addAll([1, 2, 3, 4, 5, 6, 7, 8]);
    const running = await claimAll();
    for (const n of [2, 4, 2, 5, 1]) await allow(n);
    running.push(...(await claimAll()));
    for (let done = 0; done < 8; ) {
      for (const job of running.splice(0)) {
        await at.settle('ack', job);
        done++;
      }
      running.push(...(await claimAll()));
    }
    const { counts } = await at.ok('GET', `/queues/${queue}`);
    expect(counts).toMatchObject({ ready: 0, blocked: 0, leased: 0 });
  });

  test('a replica that died after it was lowered leaves it to others', async () => {
    await addAll([1, 2, 3, 4]);
    // As if the replica had died right after the commit.
    await onAll(
      database.url,
      `update dibs.queues set group_concurrency = 1, is_narrowing = true where name = '${queue}'`,
    );
    await eventually(async () => {
      const rows = await onAll(
        database.url,
        `select count(*)::int as ready from dibs.jobs j join dibs.queues q on q.id = j.queue_id
         where q.name = '${queue}' and j.state = 'ready' and not q.is_narrowing`,
      );
      expect(rows).toContainEqual({ ready: 1 });
    });
    expect(payloadsOf(await claimAll())).toEqual([1]);
  });

  test('while somebody holds a job, it is lowered all the same, and lost heads of other queues are found', async () => {
    const [held] = await addAll([1, 2, 3, 4]);
    const beside = at.queueBeside(queue);
    await at.enqueue({ queue: beside });
    const url = await databaseOf(database.url, queue);
    const holder = await openClient(url);
    await holder.query('begin');
    await holder.query(`select from dibs.jobs where id = '${held.id}' for update`);
    await allow(1);
    const [lost] = await onServer<{ id: string }>(
      url,
      `insert into dibs.jobs (queue_id, id, state, run_at, max_attempts, payload_bytes, priority, headers, payload, group_key)
       select id, dibs.new_id(id), 'blocked', now(), 5, 1, 0, '{}', '1', 'lost' from dibs.queues where name = '${beside}'
       returning id`,
    );
    await at.reaches(lost?.id as string, 'ready');
    await holder.query('rollback');
    await holder.end();
    // The narrowing may have it at this moment.
    expect(payloadsOf(await at.claim(queue, { limit: 10, wait_seconds: 20 }))).toEqual([1]);
  });

  test('while somebody holds the next job of a group, the other groups of its queue get theirs', async () => {
    const groups = ['a', 'b', 'c', 'd', 'e'];
    const jobs = await at.enqueueAll(
      groups.flatMap((group) => [1, 2, 3, 4].map((payload) => ({ queue, group, payload }))),
    );
    const ended = await at.claim(queue, { limit: 5 });
    const next = (group: string) => jobs[groups.indexOf(group) * 4 + 3].id;
    const holder = await openClient(await databaseOf(database.url, queue));
    await holder.query('begin');
    await holder.query(`select from dibs.jobs where id = '${next('c')}' for update`);
    const acks = ended.map(({ id, lease_token }: Json) => ({ id, lease_token }));
    await at.ok('POST', '/jobs/settle', { acks });
    for (const group of ['a', 'b', 'd', 'e']) await at.reaches(next(group), 'ready');
    expect((await at.get(next('c'))).state).toBe('blocked');
    await holder.query('rollback');
    await holder.end();
    await at.reaches(next('c'), 'ready');
  });

  test('while it is lowered, a claim still gets one job of a group', async () => {
    for (const n of [1, 2, 3, 4, 5]) {
      await at.enqueueAll([1, 2, 3].map((payload) => ({ queue, group: `g${n}`, payload })));
    }
    const narrowing = `group_concurrency = 1, is_narrowing = true where name = '${queue}'`;
    await onAll(database.url, `update dibs.queues set ${narrowing}`);
    const jobs = await at.claim(queue, { limit: 15 });
    const groups = jobs.map(({ group }: Json) => group);
    expect(groups).toEqual([...new Set(groups)]);
  });

  test('it is a whole number from 1 to 1000, and 1 unless it is said', async () => {
    for (const group_concurrency of [0, 1001, 1.5, 'x'])
      expectProblem(
        await service.call('PUT', `/queues/${queue}`, { group_concurrency }),
        400,
        'invalid_request',
        '/group_concurrency',
      );
    expect((await at.configure(queue, {})).config.group_concurrency).toBe(1);
    expect((await allow(1000)).config.group_concurrency).toBe(1000);
  });
});

test('workers of several replicas work off 300 groups, and lose no job', async () => {
  const groups = 300;
  await at.enqueueAll(
    Array.from({ length: groups * 3 }, (_, i) => ({ queue, group: `g${i % groups}`, payload: i })),
  );
  const seen: number[] = [];
  const work = async (one: Service) => {
    for (;;) {
      const { body } = await one.call('POST', '/jobs/claim', { queues: [queue], limit: 50, wait_seconds: 1 });
      if (body.jobs.length === 0) return;
      seen.push(...payloadsOf(body.jobs));
      const acks = body.jobs.map(({ id, lease_token }: Json) => ({ id, lease_token }));
      await one.call('POST', '/jobs/settle', { acks });
    }
  };
  await Promise.all([work(service), work(other), work(service), work(other)]);
  expect(seen.toSorted((a, b) => a - b)).toEqual(Array.from({ length: groups * 3 }, (_, i) => i));
});

const STATEMENTS: Record<string, { config?: object; job?: object }> = {
  'a plain queue': {},
  'a queue with a limit of leases': { config: { max_leased: 100 } },
  'a queue with fairness keys': { job: { fairness_key: 'k' } },
};
describe.each(Object.keys(STATEMENTS))('in %s', (kind) => {
  test('a group_concurrency that was lowered holds at once, also where no group has been narrowed yet', async () => {
    const { config = {}, job = {} } = STATEMENTS[kind] as { config?: object; job?: object };
    await at.configure(queue, { group_concurrency: 3, ...config });
    await addAll([1, 2, 3, 4], job);
    const first = await at.claimOne(queue);
    // Nothing is narrowed while a queue is imported.
    await onAll(
      database.url,
      `update dibs.queues set group_concurrency = 1, is_narrowing = true, is_importing = true where name = '${queue}'`,
    );
    await sleep(1000);
    expect(await claimAll()).toEqual([]);
    await at.settle('ack', first);
    const [second, ...more] = await claimAll();
    expect([second.payload, more]).toEqual([2, []]);
    await onAll(database.url, `update dibs.queues set is_importing = false where name = '${queue}'`);
    await eventually(async () =>
      expect(
        await onAll(
          database.url,
          `select from dibs.jobs j join dibs.queues q on q.id = j.queue_id where q.name = '${queue}' and j.state = 'ready'`,
        ),
      ).toEqual([]),
    );
    await at.settle('ack', second);
    expect(payloadsOf(await claimAll())).toEqual([3]);
  });
});

test('a group of which too many run holds up no other one that is advanced with it', async () => {
  await addAll([1, 2, 3, 4]);
  await at.enqueueAll([5, 6, 7, 8].map((payload) => ({ queue, group: 'h', payload })));
  const running: Json[] = [];
  while (running.length < 6) running.push(await at.claimOne(queue));
  await allow(2);
  const statement = planned('groups/advance_several');
  const of = (group: string) => running.filter((job) => job.group === group);
  for (const job of of('h').slice(0, 2)) await at.settle('ack', job);
  const queue_id = queueIdOf(running[0].id) as number;
  await onQueue(database.url, queue, statement.text, valuesOf(statement, { queue_id, groups: ['g', 'h'] }));
  const [fourth] = await claimAll();
  expect(fourth.payload).toBe(8);
});
