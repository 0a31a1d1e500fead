import type { QueryResultRow } from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { as, speakingAccess } from '../support/access.ts';
import { createDatabase, createOtherDatabase, onServer, openClient } from '../support/database.ts';
import { expectProblem } from '../support/moves.ts';
import { type Service, startService } from '../support/service.ts';
import { rowsOf } from '../support/statements.ts';
import { until } from '../support/until.ts';

let home: Awaited<ReturnType<typeof createDatabase>>;
let east: Awaited<ReturnType<typeof createOtherDatabase>>;
let service: Service;
let a: ReturnType<typeof as>;
let b: ReturnType<typeof as>;
beforeAll(async () => {
  [home, east] = [await createDatabase(), await createOtherDatabase()];
  service = await startService({
    databaseUrl: home.url,
    others: { east: east.url },
    access: speakingAccess(),
  });
  [a, b] = [as(service, 'admin@a.*'), as(service, 'admin@b.*')];
});
afterAll(async () => {
  await home.drop();
  await east.drop();
});

const sql = <Row extends object>(text: string, values: unknown[] = []) =>
  onServer<Row & Record<string, unknown>>(home.url, text, values);

/** Relocations of a caller. No replica takes them before `until`. */
const insert = (actor: string, count: number, phase = 'counting', until = 'infinity') =>
  sql(
    `insert into dibs.relocations (id, queue_id, queue, source, target, dry_run, actor, phase, state, finished_at, worked_until)
     select gen_random_uuid(), 0, 'none', 'home', 'east', true, $1, $3::text,
       case when $3 = 'ended' then 'done' else 'running' end, case when $3 = 'ended' then now() end, $4
     from generate_series(1, $2::integer)`,
    [actor, count, phase, until],
  );

const nameOf = async (call: typeof a, queue: string) => {
  await call('PUT', `/queues/${queue}`, { database: 'home' });
  const { body } = await call('POST', `/queues/${queue}/relocate`, { to: 'east', dry_run: true });
  const [row] = await sql<{ actor: string }>('select actor from dibs.relocations where id = $1', [body.id]);
  return row?.actor as string;
};
const ended = (call: typeof a, id: string) =>
  until(async () => {
    const { body } = await call('GET', `/operations/${id}`);
    return body.state === 'running' ? undefined : body;
  });

test('100 that ended are kept of each caller, and all of others', async () => {
  const client = await openClient(home.url);
  await sql(`delete from dibs.relocations`);
  await insert('many', 150, 'ended');
  await insert('few', 5, 'ended');
  const asked = { queue_id: 1, queue: 'q', source: 'home', target: 'east', dry_run: true, by: 'many' };
  const limits = { most: 100, most_of_one: 20, most_kept: 100 };
  await rowsOf(client, 'relocation/insert', {
    id: '019aa5b2-7c1e-7a3f-9d2c-4b1e5f000000',
    ...asked,
    ...limits,
  });
  await client.end();
  const kept = await sql<{ actor: string; count: number }>(
    `select actor, count(*)::integer as count from dibs.relocations where phase = 'ended' group by 1 order by 1`,
  );
  expect(kept).toEqual([
    { actor: 'few', count: 5 },
    { actor: 'many', count: 100 },
  ]);
});

test('of one caller, 20 run at once. Others start theirs, and callers take turns', async () => {
  const [his, mine] = [await nameOf(a, 'a.q'), await nameOf(b, 'b.q')];
  expect(his).not.toBe(mine);
  await until(async () => (await sql(`select from dibs.relocations where phase <> 'ended'`)).length === 0);
  await insert(his, 20);
  const refused = await a('POST', '/queues/a.q/relocate', { to: 'east' });
  expectProblem(refused, 409, 'too_many_operations');
  expect(refused.body.detail).toContain('20 operations of yours');
  const started = await b('POST', '/queues/b.q/relocate', { to: 'east' });
  expect(started.status).toBe(202);
  expect(await ended(b, started.body.id)).toMatchObject({ state: 'done' });

  await service.stop();
  const client = await openClient(home.url);
  await client.query(`update dibs.relocations set worked_until = '-infinity' where phase <> 'ended'`);
  await insert(mine, 1, 'counting', '-infinity');
  const taken: QueryResultRow[] = [];
  const take = (databases: string[], served: string[]) =>
    rowsOf(client, 'relocation/take', { seconds: 60, databases, served });
  // A replica leaves those to others whose databases it lacks.
  expect(await take(['home', 'lately'], [])).toEqual([]);
  for (const served of [[his], [mine, his], [his, mine]])
    taken.push(...(await take(['home', 'east'], served)));
  expect(taken.map(({ actor }) => actor)).toEqual([mine, his, his]);
  // One that was left, as its database is away, is behind all others of its caller.
  await client.query('update dibs.relocations set worked_until = now() where id = $1', [taken[1]?.id]);
  const next = await take(['home', 'east'], [mine, his]);
  expect(next).toHaveLength(1);
  expect(next[0]?.id).not.toBe(taken[1]?.id);
  await client.end();
});
