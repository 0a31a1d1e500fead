import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createLearning } from '../../src/databases/learning.ts';
import type { Members } from '../../src/databases/members.ts';
import { unavailable } from '../../src/errors.ts';
import { onServer, openClient, SERVING_ROLE } from '../support/database.ts';
import { HEALTHY, useRelocatingReplicas } from '../support/relocatingReplicas.ts';
import { until } from '../support/until.ts';

/*
 * A replica that relocates a queue crashes, and home loses its last commits: a standby that lacks them is promoted. Here the rows of the
 * queue in home become as they were before. The other databases keep all.
 */

const { service, urls, dbs, home, work, begin, relocate, expectWhole } = useRelocatingReplicas();

/** What home has of a queue, in the order in which it may be put back. */
const TABLES = {
  relocations: { key: 'queue_id', columns: '*' },
  placements: { key: 'queue_id', columns: 'queue_id, name, database, moving_to' },
  queues: { key: 'id', columns: '*' },
  relocating_queues: { key: 'queue_id', columns: '*' },
  jobs: { key: 'queue_id', columns: '*' },
  relocating_jobs: { key: 'queue_id', columns: '*' },
};
type Kept = Record<string, unknown[]>;

async function keep(queue_id: number): Promise<Kept> {
  const parts = Object.entries(TABLES).map(
    ([table, { key }]) =>
      `'${table}', (select coalesce(json_agg(t), '[]') from dibs.${table} t where ${key} = ${queue_id})`,
  );
  const [row] = await home<{ kept: Kept }>(`select json_build_object(${parts.join(', ')}) as kept`);
  return (row as { kept: Kept }).kept;
}

/** Which steps were done: not who works on it, and until when. */
const stepsOf = (kept: Kept) =>
  JSON.stringify(kept, (key, value) => (['worked_until', 'attempt'].includes(key) ? undefined : value));

async function setBack(queue: string, queue_id: number, kept: Kept): Promise<void> {
  const client = await openClient(urls.home as string);
  await client.query('begin');
  // No trigger acts on what is put back.
  await client.query('set local session_replication_role = replica');
  for (const [table, { key, columns }] of Object.entries(TABLES)) {
    const into = columns === '*' ? '' : `(${columns})`;
    await client.query(`delete from dibs.${table} where ${key} = $1`, [queue_id]);
    await client.query(
      `insert into dibs.${table} ${into} select ${columns} from json_populate_recordset(null::dibs.${table}, $1)`,
      [JSON.stringify(kept[table])],
    );
  }
  await client.query("select pg_notify('dibs', 'placed sql ' || $1)", [queue]);
  await client.query('commit');
  await client.end();
}

/** As replicas do whose connections to home were lost. */
async function learn(): Promise<void> {
  const members = new Map(
    Object.entries(dbs).map(([name, db]) => [name, { name, base: { db } }]),
  ) as unknown as Members;
  const failures: unknown[] = [];
  const db = dbs.home as (typeof dbs)[string];
  const learning = createLearning({
    home: db,
    learner: db,
    members,
    log: (error) => failures.push(error),
  });
  await learning.fromAll();
  expect(failures).toEqual([]);
}

const arrivedAndForgotten = (queue_id: number) =>
  `select from dibs.queues where id = ${queue_id} and id not in (select queue_id from dibs.relocating_queues)`;

/** Replicas work on its relocation, if there is one, until it has ended, and no database has a note of it. */
const goOn = (queue: string, queue_id: number) =>
  until(async () => {
    await work(HEALTHY);
    const open = await home(`select from dibs.relocations where queue = '${queue}' and phase <> 'ended'`);
    let left = open.length;
    for (const url of Object.values(urls))
      left += (
        await onServer(
          url,
          `select from dibs.relocating_queues where queue_id = ${queue_id} and role <> 'refused'`,
        )
      ).length;
    return left === 0;
  });

/** The queue is in one database, where its place is, with all of its jobs, and takes more. Returns that database. */
async function expectInOnePlace(queue: string, queue_id: number, ids: string[]): Promise<string> {
  const places = await home<{ database: string; moving_to: string | null }>(
    `select database, moving_to from dibs.placements where queue_id = ${queue_id}`,
  );
  expect(places).toEqual([{ database: expect.any(String), moving_to: null }]);
  const { database } = places[0] as { database: string };
  for (const [name, url] of Object.entries(urls)) {
    const there = await onServer(url, `select from dibs.queues where id = ${queue_id}`);
    expect({ name, queues: there.length }).toEqual({ name, queues: name === database ? 1 : 0 });
  }
  await expectWhole(queue, queue_id, ids, database);
  return database;
}

/** A replica crashes after every so many of its calls. With LOST_EVERY=1 after each: that takes many minutes. */
const LOST_EVERY = Number(process.env.LOST_EVERY ?? 15);

test.each([
  ['a', 'b', false],
  ['home', 'a', false],
  ['a', 'b', true],
])(
  'a queue on its way from %s to %s is whole in one place though home has lost its last commits, stopped meanwhile: %s',
  async (source, target, isStopped) => {
    const ends = new Set<string>();
    let calls = 0;
    // The replica of the service may have taken it up. Then there are few.
    for (let i = 0; calls < 10; i++) {
      await begin(`sane-${source}-${isStopped}-${i}`, source, target);
      calls = (await work(HEALTHY)).calls;
    }
    for (let at = 1; at < calls; at += LOST_EVERY)
      for (let back = 0, isLast = false; !isLast; back++) {
        const queue = `lost-${source}-${isStopped}-${at}-${back}`;
        const { ids, queue_id } = await begin(queue, source, target);
        const all: Kept[] = [{ ...(await keep(queue_id)), relocations: [] }];
        await work({
          at,
          when: 'after',
          async watch() {
            const kept = await keep(queue_id);
            if (stepsOf(kept) !== stepsOf(all.at(-1) as Kept)) all.push(kept);
          },
        });
        isLast = back + 1 >= all.length;
        // The replica of the service may have taken it up meanwhile.
        const kept = all[Math.min(back, all.length - 1)] as Kept;
        // Where home has the queue again, and knows of no relocation, a target that has it must remember one.
        const isForgotten =
          (await onServer(urls[target] as string, arrivedAndForgotten(queue_id))).length > 0;
        if (source === 'home' && kept.relocations?.length === 0 && isForgotten) continue;
        await setBack(queue, queue_id, kept);
        if (isStopped)
          await home(
            `update dibs.relocations set is_stopped = true where queue = '${queue}' and phase <> 'ended'`,
          );
        await learn();
        await goOn(queue, queue_id);
        ends.add(await expectInOnePlace(queue, queue_id, ids));
      }
    expect([...ends].sort()).toEqual([source, target].sort());
  },
  600_000,
);

test('a queue that is being relocated, which home has forgotten, is not created anew', async () => {
  await begin('sane-anew', 'a', 'b');
  const { copyAt } = await work(HEALTHY);
  const { ids, queue_id } = await begin('anew', 'a', 'b');
  const kept = { ...(await keep(queue_id)), relocations: [] };
  await work({ at: copyAt, when: 'before' });
  await setBack('anew', queue_id, kept);
  for (const call of [
    () => service().call('POST', '/jobs', { queue: 'anew' }),
    () => service().call('PUT', '/queues/anew', { max_attempts: 7 }),
  ])
    expect(await call()).toMatchObject({ status: 503, body: { code: 'unavailable' } });
  await learn();
  await goOn('anew', queue_id);
  expect(await expectInOnePlace('anew', queue_id, ids)).toBe('b');
  expect((await service().call('POST', '/jobs', { queue: 'anew' })).status).toBe(201);
});

test('a queue that is in a third database keeps its place, and gets it there', async () => {
  const { ids, queue_id } = await begin('third', 'a', 'b');
  const [{ id } = { id: '' }] = await home<{ id: string }>(
    "delete from dibs.relocations where queue = 'third' returning id",
  );
  expect(id).not.toBe('');
  await home("update dibs.placements set database = 'b', moving_to = 'home' where name = 'third'");
  await relocate('third', queue_id, 'b', 'home');
  await home("update dibs.relocations set phase = 'leaving' where queue = 'third'");
  await goOn('third', queue_id);
  expect(await expectInOnePlace('third', queue_id, ids)).toBe('a');
});

test('a queue that may have arrived in a database that is away does not come back before that one answers', async () => {
  await begin('sane-away', 'a', 'b');
  const { calls } = await work(HEALTHY);
  const { ids, queue_id } = await begin('away', 'a', 'b');
  for (let at = 1; at < calls; at++) {
    await work({ at, when: 'after' });
    if ((await onServer(urls.b as string, `select from dibs.queues where id = ${queue_id}`)).length > 0)
      break;
  }
  const { b } = dbs as { b: (typeof dbs)[string] };
  const { transaction, query } = b;
  const away = () => Promise.reject(unavailable());
  Object.assign(b, { transaction: away, query: away });
  await home(
    "update dibs.relocations set phase = 'leaving', is_stopped = true, worked_until = '-infinity' where queue = 'away'",
  );
  await home(`update dibs.placements set database = 'a', moving_to = 'b' where queue_id = ${queue_id}`);
  const ended = work(HEALTHY);
  await sleep(1000);
  expect(await onServer(urls.a as string, `select from dibs.queues where id = ${queue_id}`)).toEqual([]);
  Object.assign(b, { transaction, query });
  await ended;
  await goOn('away', queue_id);
  expect(await expectInOnePlace('away', queue_id, ids)).toBe('b');
});

/** Every replica takes home for another server, as after a failover. */
const failOver = () =>
  home(`
    alter sequence dibs.positions rename to old_positions;
    create sequence dibs.positions;
    select setval('dibs.positions', (select last_value + 1 from dibs.old_positions));
    alter table dibs.jobs alter position set default nextval('dibs.positions');
    drop sequence dibs.old_positions;
    grant usage, select on sequence dibs.positions to ${SERVING_ROLE};
    select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid()`);

test('home takes and gives no job of a queue that lives elsewhere by now, before it has learned that', async () => {
  await begin('sane-late', 'home', 'a');
  const { calls: steps } = await work(HEALTHY);
  const { ids, queue_id } = await begin('late', 'home', 'a');
  const kept = { ...(await keep(queue_id)), relocations: [] };
  const inA = `select from dibs.queues where id = ${queue_id}`;
  for (let at = 1; at < steps; at++) {
    await work({ at, when: 'after' });
    if ((await onServer(urls.a as string, inA)).length > 0) break;
  }
  const holder = await openClient(urls.a as string);
  await holder.query('begin');
  const note = `select from dibs.relocating_queues where queue_id = ${queue_id} and role = 'arrived' for update`;
  expect((await holder.query(note)).rows).toHaveLength(1);
  await setBack('late', queue_id, kept);
  await failOver();
  let isKnown = false;
  /** Calls until it is answered 2xx. Until home has learned, calls wait, or are refused. */
  const answered = async (path: string, body: object) => {
    for (;;) {
      const answer = await service().call('POST', path, body);
      if (answer.status < 300) return { body: answer.body, isEarly: !isKnown };
      expect(answer.status).toBe(503);
      await sleep(20);
    }
  };
  const calls = Promise.all([
    answered('/jobs/claim', { queues: ['late'] }),
    answered('/jobs', { queue: 'late', group: 'later' }),
  ]);
  await sleep(800);
  isKnown = true;
  await holder.query('commit');
  await holder.end();
  const [claimed, enqueued] = await calls;
  expect([claimed.isEarly, enqueued.isEarly]).toEqual([false, false]);
  expect(claimed.body.jobs).toEqual([]);
  await goOn('late', queue_id);
  const { id } = enqueued.body;
  expect((await service().call('GET', `/jobs/${id}`)).body).toMatchObject({ id, state: 'ready' });
  expect((await service().call('DELETE', `/jobs/${id}`)).status).toBe(200);
  expect(await expectInOnePlace('late', queue_id, ids)).toBe('a');
});
