import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { as, speakingAccess } from '../support/access.ts';
import { createDatabase, createOtherDatabase, onServer } from '../support/database.ts';
import { expectProblem, moves } from '../support/moves.ts';
import { type Service, startService } from '../support/service.ts';
import { until } from '../support/until.ts';

// biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every kind.
type Json = any;

/** A duty counts for a fiftieth of the time: on a busy machine, the next count may come late. */
const SLOW = { withinMs: 170_000 };

const NAMES = ['home', 'east', 'west'];
const databases: Record<string, Awaited<ReturnType<typeof createDatabase>>> = {};
let service: Service;
let root: ReturnType<typeof as>;
let at: ReturnType<typeof moves>;
/** The ids of all jobs, in the order of their ids. */
const ids: string[] = [];

beforeAll(async () => {
  databases.home = await createDatabase();
  for (const name of ['east', 'west']) databases[name] = await createOtherDatabase();
  const others = Object.fromEntries(['east', 'west'].map((name) => [name, databases[name]?.url as string]));
  service = await startService({ databaseUrl: databases.home.url, others, access: speakingAccess() });
  root = as(service, 'admin@*');
  at = moves({ ...service, call: root });
  // Each database has two queues. Names and jobs come in turns.
  for (const [i, name] of [...NAMES, ...NAMES].entries())
    await at.ok('PUT', `/queues/q${i}`, { database: name, retention_seconds: 3600 });
  for (let i = 0; i < 24; i++)
    ids.push((await at.enqueue({ queue: `q${i % 6}`, payload: 'x'.repeat(i * 10) })).id);
  ids.sort();
});
afterAll(async () => {
  await service.stop();
  for (const { drop } of Object.values(databases)) await drop();
});

/** All pages of a list. Each but the last must go on, and no page may be longer than its limit. */
async function allPages(path: string, items: string, limit: number, call = root): Promise<Json[]> {
  const found: Json[] = [];
  let cursor = '';
  for (;;) {
    const query = `limit=${limit}${cursor && `&cursor=${cursor}`}`;
    const { status, body, text } = await call('GET', `${path}${path.includes('?') ? '&' : '?'}${query}`);
    expect(status, text).toBe(200);
    expect(body).not.toHaveProperty('away');
    expect(body[items].length).toBeLessThanOrEqual(limit);
    found.push(...body[items]);
    if (body.next_cursor === null) return found;
    cursor = body.next_cursor;
  }
}
const idsOf = (all: Json[]) => all.map(({ id }) => id);

test('queues are listed by name, each with its database, in pages that go on over all', async () => {
  for (const limit of [1, 2, 5, 100])
    expect(
      (await allPages('/queues', 'queues', limit)).map(({ name, database }) => [name, database]),
    ).toEqual([...NAMES, ...NAMES].map((database, i) => [`q${i}`, database]));
});

test('jobs are listed by id, each once, in pages that go on over all', async () => {
  for (const limit of [1, 5, 23, 24, 100]) {
    expect(idsOf(await allPages('/jobs?order=oldest', 'jobs', limit))).toEqual(ids);
    expect(idsOf(await allPages('/jobs?include=payload', 'jobs', limit))).toEqual(ids.toReversed());
    // No index has these in the order of the list: they are searched.
    expect(idsOf(await allPages('/jobs?state=ready&order=oldest', 'jobs', limit))).toEqual(ids);
  }
});

test('the jobs of one queue are those of its database, and a queue that there is not has none', async () => {
  const of = await allPages('/jobs?queue=q4&payload_contains=xxx', 'jobs', 3);
  expect(of.length).toBeGreaterThan(0);
  expect(new Set(of.map(({ queue }) => queue))).toEqual(new Set(['q4']));
  expect(await allPages('/jobs?queue=nowhere', 'jobs', 3)).toEqual([]);
  expectProblem(await root('GET', '/jobs?payload_contains=x'), 400, 'invalid_request');
});

test('a caller for some queues sees those, wherever they are, and nothing else', async () => {
  const some = as(service, 'read@q1,q3');
  const queues = await allPages('/queues', 'queues', 1, some);
  expect(queues.map(({ name, database }) => [name, database])).toEqual([
    ['q1', 'east'],
    ['q3', 'home'],
  ]);
  const jobs = await allPages('/jobs', 'jobs', 3, some);
  expect(jobs).toHaveLength(8);
  expect(new Set(jobs.map(({ queue }) => queue))).toEqual(new Set(['q1', 'q3']));
  const { body } = await some('GET', '/databases');
  expect(body.databases.map(({ name, queues }: Json) => [name, queues])).toEqual([
    ['home', 1],
    ['east', 1],
    ['west', 0],
  ]);
  expect((await some('GET', '/metrics')).text).not.toMatch(/queue="q[0245]"|process_/);
});

test('a worker with leases in several databases is one worker', async () => {
  const leased: Json[] = [];
  for (const queue of ['q0', 'q1', 'q4']) leased.push(...(await at.claim(queue, { worker: 'w', limit: 2 })));
  expect(await at.ok('GET', '/workers')).toMatchObject({
    workers: [{ worker: 'w', leased: 6, queues: ['q0', 'q1', 'q4'] }],
    total: 1,
    complete: true,
  });
  expect(await at.ok('GET', '/workers?queue=q1')).toMatchObject({ workers: [{ worker: 'w', leased: 2 }] });
  expect(idsOf(await allPages('/jobs?state=leased&worker=w&order=oldest', 'jobs', 4))).toEqual(
    idsOf(leased).sort(),
  );
  for (const job of leased) await at.settle('release', job);
});

test('operations are listed newest first, and found by id, wherever they are', async () => {
  const started: string[] = [];
  for (const queue of ['q0', 'q1', 'q2', 'q4']) {
    const body = { verb: 'cancel', queue, filter: { states: ['dead'] }, dry_run: true };
    started.push((await at.ok('POST', '/operations', body)).id);
  }
  // Each database has a clock of its own. Their ids are by these clocks.
  const newestFirst = started.toSorted().toReversed();
  expect(idsOf(await allPages('/operations', 'operations', 3))).toEqual(newestFirst);
  expect(idsOf(await allPages('/operations?queue=q2', 'operations', 3))).toEqual([started[2]]);
  for (const id of started) {
    expect(await at.ok('GET', `/operations/${id}`)).toMatchObject({ id });
    expect(await at.ok('DELETE', `/operations/${id}`)).toMatchObject({ id });
  }
  expectProblem(await root('GET', `/operations/${ids[0]}`), 404, 'operation_not_found');
  expectProblem(await as(service, 'read@q0')('GET', `/operations/${started[1]}`), 404, 'operation_not_found');
});

test('the overview has the sums of all, and each queue with its database', async () => {
  const overview = await until(async () => {
    const body = await at.ok('GET', '/overview');
    return body.complete && body.counts.ready === 24 && body;
  }, SLOW);
  expect(overview).toMatchObject({ total: 6, counts: { ready: 24 } });
  expect(overview.queues.map(({ name, database }: Json) => `${name} ${database}`).sort()).toEqual(
    [...NAMES, ...NAMES].map((database, i) => `q${i} ${database}`),
  );
  expect((await at.ok('GET', '/overview?limit=2')).queues).toHaveLength(2);
  expect((await at.ok('GET', '/overview?queue=q4')).queues).toMatchObject([{ name: 'q4', database: 'east' }]);
});

test('the samples have the queues of all, and their sum', async () => {
  for (const { url } of Object.values(databases))
    await onServer(
      url,
      `insert into dibs.samples (minute, queue_id, ready, waiting, leased, dead)
       select minute, queue_id, 4, 4, 0, 0
       from (select id from dibs.queues union all select 0) as q (queue_id),
         (values (date_trunc('minute', now()) - interval '3 minutes')) as m (minute)
       on conflict (minute, queue_id) do update set ready = excluded.ready`,
    );
  const { all, queues } = await at.ok('GET', '/overview/samples?minutes=5');
  expect(queues.map(({ name }: Json) => name).sort()).toEqual(['q0', 'q1', 'q2', 'q3', 'q4', 'q5']);
  expect(all.ready).toContain(12);
  expect((await at.ok('GET', '/overview/samples?queue=q2')).queues).toMatchObject([{ name: 'q2' }]);
});

test('the metrics have each queue once, with its database, and what belongs to the process once', async () => {
  const lines = await until(async () => {
    const { text } = await root('GET', '/metrics');
    const lines = text.split('\n');
    const of = (start: string) => lines.filter((line) => line.startsWith(start));
    return of('dibs_queue_jobs{queue="q').length === 6 * 7 && of;
  }, SLOW);
  for (const [i, database] of [...NAMES, ...NAMES].entries())
    expect(lines(`dibs_queue_jobs{queue="q${i}",state="ready"`)).toEqual([
      `dibs_queue_jobs{queue="q${i}",state="ready",database="${database}"} 4`,
    ]);
  for (const database of NAMES)
    expect(lines(`dibs_database_up{database="${database}"}`)).toEqual([
      `dibs_database_up{database="${database}"} 1`,
    ]);
  for (const once of ['process_cpu_seconds_total ', 'dibs_event_loop_lag_seconds ', 'dibs_claims_waiting '])
    expect(lines(once)).toHaveLength(1);
  expect(lines('# TYPE dibs_queue_jobs ')).toHaveLength(1);
  expect(lines('dibs_held{kind="calls"')).toHaveLength(1);
  expect(lines('dibs_memory_budget_bytes{share="')).not.toEqual([]);
});

describe('GET /databases', () => {
  test('tells of each its state, queues and jobs', async () => {
    const { databases } = await until(async () => {
      const body = await at.ok('GET', '/databases');
      return body.databases.every(({ counts }: Json) => counts?.ready === 8) && body;
    }, SLOW);
    expect(databases.map(({ name, state, queues }: Json) => [name, state, queues])).toEqual(
      NAMES.map((name) => [name, 'open', 2]),
    );
  });

  test('tells which are closed, also home', async () => {
    for (const name of ['home', 'west']) {
      expect(await at.ok('PUT', `/databases/${name}`, { accepts_queues: false })).toMatchObject({
        name,
        state: 'closed',
        queues: 2,
      });
    }
    const states = async () => (await at.ok('GET', '/databases')).databases.map(({ state }: Json) => state);
    expect(await states()).toEqual(['closed', 'open', 'closed']);
    await at.enqueue({ queue: 'new' });
    expect(await at.ok('GET', '/queues/new')).toMatchObject({ database: 'east' });
    await at.ok('DELETE', '/queues/new?force=true');
    for (const name of ['home', 'west']) await at.ok('PUT', `/databases/${name}`, { accepts_queues: true });
    expect(await states()).toEqual(['open', 'open', 'open']);
    expectProblem(await root('PUT', '/databases/north', { accepts_queues: true }), 404, 'database_not_found');
  });
});

describe('a database that is away', () => {
  const allow = (name: string, isAllowed: boolean) => {
    const { pathname } = new URL(databases[name]?.url as string);
    return onServer(
      databases[name === 'home' ? 'east' : 'home']?.url as string,
      `alter database ${pathname.slice(1)} allow_connections ${isAllowed}`,
    );
  };
  async function takeAway(name: string): Promise<void> {
    const { pathname } = new URL(databases[name]?.url as string);
    await allow(name, false);
    await onServer(
      databases[name === 'home' ? 'east' : 'home']?.url as string,
      'select pg_terminate_backend(pid) from pg_stat_activity where datname = $1',
      [pathname.slice(1)],
    );
  }
  const isBack = (name: string) =>
    until(async () => {
      const { body } = await root('GET', '/databases');
      return body.databases?.find((one: Json) => one.name === name)?.state === 'open';
    }, SLOW);

  test.each(['east', 'home'])(
    '%s is left out of lists and named, and the others are answered',
    async (name) => {
      await takeAway(name);
      try {
        const gone = [...NAMES, ...NAMES].flatMap((database, i) => (database === name ? [`q${i}`] : []));
        for (const path of [
          '/queues',
          '/jobs',
          '/workers',
          '/operations',
          '/overview',
          '/overview/samples',
        ]) {
          const { body } = await until(async () => {
            const answer = await root('GET', path);
            return answer.status === 200 && answer.body.away && answer;
          });
          expect(body.away, path).toEqual([name]);
          for (const queue of gone) expect(JSON.stringify(body)).not.toContain(`"${queue}"`);
        }
        expect((await root('GET', '/jobs')).body.jobs).toHaveLength(16);
        const { body } = await root('GET', '/databases');
        expect(body.databases.map(({ state }: Json) => state)).toEqual(
          NAMES.map((one) => (one === name ? 'away' : 'open')),
        );
        expectProblem(await root('GET', `/operations/${ids[0]}`), 503, 'unavailable');
        expect((await root('GET', '/metrics')).text).toContain(`dibs_database_up{database="${name}"} 0`);
      } finally {
        await allow(name, true);
        await isBack(name);
      }
      expect(await allPages('/jobs', 'jobs', 100)).toHaveLength(24);
    },
    180_000,
  );
});
