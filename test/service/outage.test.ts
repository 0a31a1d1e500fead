import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { onServer } from '../support/database.ts';
import { parseMetrics } from '../support/exposition.ts';
import { OPERATIONS } from '../support/operations.ts';
import { unreliablePostgres } from '../support/postgres.ts';
import { http, startReplica } from '../support/replica.ts';
import { until } from '../support/until.ts';

/** 5 s are promised. The rest is for a busy machine. Whoever waits for a second timeout takes 10 s. */
const ANSWERED_MS = 8000;
const BACK_MS = 20_000;
const CUT = `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'dibs'`;
const ANY_ID = '019aa5b2-7c1e-7a3f-9d2c-4b1e5f000001';

type Headers = Record<string, string>;

/** A replica on a PostgreSQL of its own. */
async function world() {
  const postgres = await unreliablePostgres();
  const replica = await startReplica({ DATABASE_URL: postgres.url });

  const call = (method: string, path: string, body?: unknown, headers?: Headers) =>
    http(replica.url, method, path, body, { headers });

  async function timed(method: string, path: string, body?: unknown, headers?: Headers) {
    const started = performance.now();
    const answer = await call(method, path, body, headers);
    return { path, answer, ms: performance.now() - started };
  }

  return {
    postgres,
    replica,
    call,
    timed,
    async lease(queue: string) {
      const id = (await call('POST', '/jobs', { queue })).body.id;
      const { body } = await call('POST', '/jobs/claim', { queues: [queue], lease_seconds: 600 });
      expect(body.jobs).toHaveLength(1);
      return { id, lease_token: body.jobs[0].lease_token };
    },
    async isBack() {
      const answers = await Promise.all([
        call('POST', '/jobs', { queue: 'known' }),
        call('POST', '/jobs/claim', { queues: ['known'], lease_seconds: 600 }),
        call('GET', '/readyz'),
      ]);
      return answers.every((answer) => answer.status < 300);
    },
    async end() {
      postgres.thaw();
      await replica.end('SIGKILL');
      await postgres.remove();
    },
  };
}

type World = Awaited<ReturnType<typeof world>>;

/** Every call that needs the database. */
function allCalls({
  id,
  lease_token,
}: {
  id: string;
  lease_token: string;
}): [string, string, unknown?, Headers?][] {
  return [
    // More than may run at once, and two of each key.
    ...Array.from({ length: 12 }, (_, i): [string, string, unknown, Headers] => [
      'POST',
      '/jobs',
      { queue: 'known' },
      { 'idempotency-key': `key-${i >> 1}` },
    ]),
    ['POST', '/jobs', { queue: 'known' }],
    ['POST', '/jobs', { queue: 'unknown' }],
    ['POST', '/jobs', { queue: 'known' }, { prefer: 'wait=30' }],
    ['POST', '/jobs/batch', { jobs: [{ queue: 'known' }, { queue: 'other' }] }],
    ['POST', '/jobs/claim', { queues: ['known'] }],
    ['POST', '/jobs/claim', { queues: ['known', 'other', 'unknown'], wait_seconds: 30 }],
    ['POST', `/jobs/${id}/ack`, { lease_token }],
    ['POST', `/jobs/${id}/ack`, { lease_token, enqueue: [{ queue: 'known' }] }],
    ['POST', `/jobs/${id}/nack`, { lease_token }],
    ['POST', `/jobs/${id}/nack`, { lease_token, retry: false, enqueue: [{ queue: 'known' }] }],
    ['POST', `/jobs/${id}/release`, { lease_token }],
    ['POST', `/jobs/${id}/extend`, { lease_token, lease_seconds: 600 }],
    ['POST', '/jobs/settle', { acks: [{ id, lease_token }] }],
    ['GET', `/jobs/${ANY_ID}`],
    ['GET', `/jobs/${id}?wait_seconds=30`],
    ['GET', '/jobs'],
    ['POST', `/jobs/${id}/retry`],
    ['DELETE', `/jobs/${ANY_ID}`],
    ['GET', '/queues'],
    ['GET', '/queues/known'],
    ['PUT', '/queues/known', {}],
    ['POST', '/queues/known/pause'],
    ['POST', '/queues/known/purge', { states: ['ready'] }],
    ['POST', '/queues/known/redrive'],
    ['DELETE', '/queues/unknown'],
    ['GET', '/readyz'],
    ...eachOperation({ id, lease_token }),
  ];
}

/** The metrics tell what the replica knows. And the first access key must be another one than that of the entry. */
const WITHOUT_DATABASE = ['getMetrics', 'createKey'];

/** Each operation of the document that needs the database. */
function eachOperation(leased: { id: string; lease_token: string }): [string, string, unknown?, Headers?][] {
  const ids = { ready: ANY_ID, dead: ANY_ID, operation: ANY_ID, batch: ANY_ID };
  const at = { queue: 'known', leased, schedule: 'none', ...ids };
  return Object.entries(OPERATIONS)
    .filter(([name, { isPublic }]) => !isPublic && !WITHOUT_DATABASE.includes(name))
    .flatMap(([, { method, cases }]) =>
      Object.values(cases).map((one): [string, string, unknown?, Headers?] => {
        const { path, body, headers } = one.call(at);
        return [method, path, body, headers];
      }),
    );
}

/** Many clients that produce and claim at once. Returns every answer that is wrong or too late. */
async function load({ timed }: World, forMs: number, calm: () => boolean): Promise<string[]> {
  const wrong: string[] = [];
  const kindsOf = (i: number): [string, string, unknown][] => [
    ['POST', '/jobs', { queue: 'busy' }],
    ['POST', '/jobs/batch', { jobs: [{ queue: 'busy' }, { queue: `busy-${i % 3}` }] }],
    ['POST', '/jobs/claim', { queues: [`busy-${i % 3}`, 'busy'], limit: 3, wait_seconds: i % 2 }],
  ];
  const clients = Array.from({ length: 24 }, async (_, i) => {
    for (const end = performance.now() + forMs; performance.now() < end; ) {
      const { path, answer, ms } = await timed(...(kindsOf(i)[i % 3] as [string, string, unknown]));
      if (ms > ANSWERED_MS) wrong.push(`${path} ${answer.status} after ${Math.round(ms)} ms`);
      if (answer.status >= 300 && answer.status !== 503) wrong.push(answer.text);
      if (calm()) await sleep(Math.random() * 200);
    }
  });
  for (const client of await Promise.allSettled(clients))
    if (client.status === 'rejected') wrong.push(`${client.reason}: ${client.reason.cause}`);
  return wrong;
}

const AWAY = {
  stopped: {
    away: ({ postgres }: World) => postgres.stop(),
    back: async ({ postgres }: World) => void (await postgres.start()),
  },
  frozen: {
    away: async ({ postgres }: World) => postgres.freeze(),
    back: async ({ postgres }: World) => postgres.thaw(),
  },
};

// They wait for the same timeouts side by side.
describe.concurrent.each(Object.entries(AWAY))('a database that is %s', (_, { away, back }) => {
  let own: World;
  beforeAll(async () => {
    own = await world();
  });
  afterAll(() => own?.end());

  /** One after the other: each takes the database away. */
  const awayTest = (name: string, run: (world: World) => Promise<void>) =>
    test.sequential(name, async () => {
      await until(own.isBack);
      try {
        await run(own);
      } finally {
        await back(own);
        await until(own.isBack);
      }
    });

  awayTest(
    'has every call answered with 503 and Retry-After within 5 seconds, waiting calls too',
    async (world) => {
      const { call, timed, lease, isBack } = world;
      await call('POST', '/jobs', { queue: 'other', delay_seconds: 600 });
      const leased = await lease('known');
      const waiting = ['nothing', 'known'].map((queue) =>
        timed('POST', '/jobs/claim', { queues: [queue, 'none'], wait_seconds: 60 }),
      );
      const ends = timed('GET', `/jobs/${leased.id}?wait_seconds=60`);
      await until(isBack);
      await away(world);
      const gone = performance.now();
      // An answer of /readyz is shared for so long.
      await sleep(300);
      const waits = Promise.all([ends, ...waiting]).then((all) => ({ all, ms: performance.now() - gone }));
      for (let i = 0; i < 2; i++) {
        for (const { path, answer, ms } of await Promise.all(allCalls(leased).map((c) => timed(...c)))) {
          expect(answer.status, `${path} ${answer.text}`).toBe(503);
          expect(answer.body.code).toBe('unavailable');
          expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
          expect(ms, path).toBeLessThan(ANSWERED_MS);
        }
        expect((await call('GET', '/healthz')).status).toBe(200);
      }
      const { all, ms } = await waits;
      // The claim on `known` may have been answered before: that queue had a job.
      for (const { answer } of all.slice(0, 2)) expect(answer.status).toBe(503);
      expect(ms).toBeLessThan(ANSWERED_MS);
      await back(world);
      await until(isBack, { withinMs: BACK_MS, what: 'service' });
    },
  );

  awayTest(
    'fails the requests that gathered behind a statement together with it, without a second timeout',
    async (world) => {
      const { call, timed, lease } = world;
      const leased = [await lease('known'), await lease('known'), await lease('known')];
      const acks = leased.map(({ id, lease_token }) => ['POST', `/jobs/${id}/ack`, { lease_token }] as const);
      await call('POST', '/jobs', { queue: 'known' });
      // This fills the pool with connections that look alive.
      await Promise.all(Array.from({ length: 20 }, () => call('GET', '/readyz')));
      await away(world);
      const one = (kind: number) =>
        kind < 3
          ? timed('POST', '/jobs', { queue: 'known' })
          : timed(...(acks[kind - 3] as (typeof acks)[0]));
      const answers = await Promise.all(
        [0, 3, 1, 4, 2, 5].map((kind, i) => sleep(i * 20).then(() => one(kind))),
      );
      for (const { path, answer, ms } of answers) {
        expect(answer.status, `${path} ${answer.text}`).toBe(503);
        expect(ms, path).toBeLessThan(ANSWERED_MS);
      }
    },
  );

  awayTest('has the groups without a head looked for again as soon as it is back', async (world) => {
    const { url } = world.postgres;
    await away(world);
    const failures = async () => {
      const scraped = await fetch(`${world.replica.url}/metrics`);
      return parseMetrics(await scraped.text()).value('dibs_duty_failures_total', { duty: 'groups' }) ?? 0;
    };
    const before = await failures();
    await until(async () => (await failures()) > before, { what: 'a look that fails' });
    await back(world);
    await until(world.isBack);
    const [lost] = await onServer<{ id: string }>(
      url,
      `insert into dibs.jobs (queue_id, id, state, run_at, max_attempts, payload_bytes, priority, headers, payload, group_key)
       select id, dibs.new_id(id), 'blocked', now(), 5, 1, 0, '{}', '1', 'lost' from dibs.queues where name = 'known'
       returning id`,
    );
    await until(async () => (await world.call('GET', `/jobs/${lost?.id}`)).body.state !== 'blocked', {
      withinMs: BACK_MS,
      what: 'a head',
    });
  });

  awayTest('is reported to many clients at once in time, and ends no process', async (world) => {
    let isAway = false;
    const clients = load(world, 7000, () => isAway);
    await sleep(500);
    isAway = true;
    await away(world);
    expect(await clients).toEqual([]);
    expect((await world.call('GET', '/healthz')).status).toBe(200);
  });
});

describe('a database', () => {
  let own: World;
  beforeAll(async () => {
    own = await world();
  });
  afterAll(() => own?.end());

  test('that cuts connections again and again, at any moment, ends no process', async () => {
    let done = false;
    const clients = load(own, 3000, () => false).finally(() => {
      done = true;
    });
    while (!done) {
      await onServer(own.postgres.url, CUT);
      await sleep(Math.random() * 30);
    }
    expect(await clients, own.replica.lines.slice(-20).join('\n')).toEqual([]);
    expect((await own.call('GET', '/healthz')).status).toBe(200);
  });

  test('that comes after the service has started serves as soon as it is there', async () => {
    await own.postgres.stop();
    const starting = startReplica({ DATABASE_URL: own.postgres.url });
    await sleep(1500);
    await own.postgres.start();
    const late = await starting;
    expect((await http(late.url, 'GET', '/readyz')).status).toBe(200);
    expect(await late.end('SIGTERM')).toBe(0);
  });
});
