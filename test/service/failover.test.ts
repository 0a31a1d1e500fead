import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { examine } from '../../src/doctor/examine.ts';
import { migrate } from '../../src/postgres/migrate.ts';
import { onServer, urlOf } from '../support/database.ts';
import { binaries } from '../support/debianPostgres.ts';
import { startLoad } from '../support/failoverLoad.ts';
import { http, type Replica, startReplica } from '../support/replica.ts';
import { primaryAndStandby } from '../support/replication.ts';
import { until } from '../support/until.ts';

/* A primary and its synchronous standby. The tests go on from each other: the primary dies in one of them. */

const folder = binaries();
/** What duties and the other replica, at which nobody is, may have waiting besides. */
const OTHERS = 20;

/** What a look sees in so many looks, a quarter of a second apart. */
async function seen<T>(times: number, look: () => Promise<T>): Promise<T[]> {
  const all: T[] = [];
  for (let i = 0; i < times; i++) {
    all.push(await look());
    await sleep(250);
  }
  return all;
}
const IN_WAIT = `select pid from pg_stat_activity where wait_event = 'SyncRep'`;

describe.skipIf(folder === undefined)('of a primary and its synchronous standby', () => {
  let pair: Awaited<ReturnType<typeof primaryAndStandby>>;
  const replicas: Replica[] = [];
  beforeAll(async () => {
    pair = await primaryAndStandby(folder as string);
    await onServer(pair.primary.url, 'create database dibs');
    await migrate(pair.url('dibs'));
    for (let i = 0; i < 2; i++) replicas.push(await start());
  });
  afterAll(async () => {
    await Promise.all(replicas.map((replica) => replica.end('SIGKILL')));
    await pair?.remove();
  });

  const start = () => startReplica({ DATABASE_URL: pair.url('dibs', '?target_session_attrs=read-write') });
  const on = (node: 'primary' | 'standby', text: string) =>
    onServer<{ id: string }>(urlOf(pair[node].url, 'dibs'), text);
  const jobsOf = async (node: 'primary' | 'standby') =>
    (await on(node, 'select id from dibs.jobs')).map(({ id }) => id);
  const enqueue = (replica: Replica, key: string) =>
    http(replica.url, 'POST', '/jobs', { queue: 'mail' }, { headers: { 'idempotency-key': key } });

  test('an enqueue that the standby has not confirmed is answered by nobody, however often it is repeated', async () => {
    const [first, second] = replicas as [Replica, Replica];
    pair.standby.freeze();
    try {
      expect((await enqueue(first, 'frozen')).body).toMatchObject({ status: 503, outcome: 'unknown' });
      for (const replica of [second, first]) expect((await enqueue(replica, 'frozen')).status).toBe(503);
      expect(await jobsOf('primary')).toEqual([]);
    } finally {
      pair.standby.thaw();
    }
    await until(async () => (await enqueue(second, 'frozen')).status === 201);
    expect(await jobsOf('standby')).toHaveLength(1);
  });

  test('while the standby is away, calls leave no more connections of the server waiting than the pool has twice', async () => {
    const { url, lines } = replicas[0] as Replica;
    const put = () => http(url, 'PUT', `/queues/queue-${Math.random()}`, {});
    pair.standby.freeze();
    const isOver = { now: false };
    const callers = Array.from({ length: 30 }, async () => {
      while (!isOver.now) if ((await put()).status === 503) await sleep(50);
    });
    await until(() => lines.join('').includes('its commits wait for a synchronous standby'));
    const most = Math.max(...(await seen(40, async () => (await on('primary', IN_WAIT)).length)));
    isOver.now = true;
    pair.standby.thaw();
    await Promise.all(callers);
    await until(async () => (await put()).status === 200);
    expect(most).toBeLessThanOrEqual(20 + OTHERS);
  });

  test('a commit whose wait for the standby is cancelled by hand is answered as unknown, not as done', async () => {
    pair.standby.freeze();
    const enqueuing = enqueue(replicas[0] as Replica, 'cancelled');
    await until(async () => (await on('primary', IN_WAIT)).length > 0);
    await on('primary', `select pg_cancel_backend(pid) from (${IN_WAIT}) as waits`);
    const answer = await enqueuing;
    pair.standby.thaw();
    expect(answer.body).toMatchObject({ status: 503, outcome: 'unknown' });
    expect((replicas[0] as Replica).lines.join('')).toContain(
      'a commit is here, and perhaps on no synchronous standby',
    );
  });

  test('when the primary is killed under load and the standby is promoted, the service serves again, every answered enqueue is delivered, and no two leases of a job run at once', async () => {
    const load = startLoad(() => replicas.map(({ url }) => url));
    await until(() => load.answered() > 300 && load.leases() > 300);
    await pair.primary.kill();
    await until(() => load.refused() > 5);
    const ready = await until(async () => {
      const { body } = await http((replicas[0] as Replica).url, 'GET', '/readyz');
      return body.detail?.includes('standby') && body;
    });
    expect(ready).toMatchObject({
      status: 503,
      detail: 'No host of the database serves: it does not answer; it is a standby. Try again later.',
    });
    expect((replicas[0] as Replica).lines.join('')).toContain(`${pair.standby.port}: it is a standby`);
    await pair.promote();
    load.watch();
    await until(() => load.servedAt() !== undefined, { what: 'service after the promotion' });
    const before = load.answered();
    await until(() => load.answered() > before + 300);
    const left = async () =>
      (
        await on(
          'standby',
          `select jobs.id from dibs.jobs join dibs.queues as q on q.id = queue_id where q.name = 'failover'`,
        )
      ).map(({ id }) => id);
    expect(await load.finish(left)).toEqual([]);
  });

  test('the old primary that comes back, not knowing, is never written to: by replicas that run, nor by one that starts', async () => {
    await pair.comesBack();
    const findings = await examine({ url: pair.url('dibs'), poolSize: 10, isEmbedded: false });
    expect(findings.filter(({ check }) => check === 'hosts')).toMatchObject([
      { level: 'problem', found: expect.stringContaining('is a primary of before') },
      { level: 'ok', found: expect.stringContaining('is the primary, at timeline 2') },
    ]);
    const state = `select md5(string_agg(j::text, '' order by id)) as jobs from dibs.jobs as j`;
    const before = await on('primary', state);
    const starting = start();
    replicas.push(await starting);
    for (const replica of replicas) {
      // Each connection is made anew.
      await on(
        'standby',
        `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'dibs'`,
      );
      await until(async () => (await enqueue(replica, `after ${replica.pid}`)).status === 201);
    }
    expect(await on('primary', `select pid from pg_stat_activity where application_name = 'dibs'`)).toEqual(
      [],
    );
    expect(await on('primary', state)).toEqual(before);
    expect(
      await on(
        'standby',
        `select from dibs.jobs join dibs.queues as q on q.id = queue_id where q.name = 'mail'`,
      ),
    ).toHaveLength(5);
  });
});
