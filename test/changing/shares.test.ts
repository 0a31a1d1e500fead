import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { cutTable } from '../../src/maintenance/cutter.ts';
import { pruneOperations } from '../../src/maintenance/pruner.ts';
import { as, speakingAccess } from '../support/access.ts';
import { onServer } from '../support/database.ts';
import { eventually, expectProblem, moves } from '../support/moves.ts';
import { gateOperations } from '../support/operationGate.ts';
import { type Service, startService } from '../support/service.ts';

/* No caller, and no queue, uses up what is bounded for all. */

let service: Service;
let a: ReturnType<typeof as>;
let b: ReturnType<typeof as>;
beforeAll(async () => {
  service = await startService({ access: speakingAccess() });
  a = as(service, 'admin@a.*');
  b = as(service, 'admin@b.*');
  const root = moves({ ...service, call: as(service, 'admin@*') });
  for (const queue of ['a.q', 'b.q']) await root.configure(queue, {});
});
afterAll(() => service.stop());

const sql = (text: string, values: unknown[] = []) =>
  onServer<Record<string, unknown>>(service.databaseUrl, text, values);

describe('operations', () => {
  const start = (call: ReturnType<typeof as>, queue: string) =>
    call('POST', '/operations', { verb: 'cancel', queue, filter: { states: ['dead'] }, dry_run: true });

  const insertEnded = (actor: string, count: number) =>
    sql(
      `insert into dibs.operations (id, verb, queue_id, queue, states, dry_run, last_position, open_transactions,
         next_transaction, state, finished_at, actor)
       select gen_random_uuid(), 'cancel', 0, 'a.q', '{dead}', true, 0, '{}', 0, 'done', now(), $1
       from generate_series(1, $2::integer)`,
      [actor, count],
    );

  test('of one caller, 20 run at once. Others start theirs, and theirs take turns with his', async () => {
    const gate = gateOperations({ ...service, call: as(service, 'admin@*') });
    let release: () => void = () => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    gate.before(() => held);
    const started = await Promise.all(Array.from({ length: 20 }, () => start(a, 'a.q')));
    expect(started.map(({ status }) => status)).toEqual(Array(20).fill(202));
    const refused = await start(a, 'a.q');
    expectProblem(refused, 409, 'too_many_operations');
    expect(refused.body.detail).toContain('20 operations of yours');
    const own = await start(b, 'b.q');
    expect(own.status).toBe(202);
    release();
    gate.open();
    const ended = async (id: string, call: ReturnType<typeof as>) => {
      const { body } = await call('GET', `/operations/${id}`);
      expect(body.state).toBe('done');
      return body.finished_at;
    };
    const [his, mine] = await eventually(async () => [
      await Promise.all(started.map(({ body }) => ended(body.id, a))),
      await ended(own.body.id, b),
    ]);
    // The first portion was under way when this one was started.
    expect((his as string[]).filter((time) => time < (mine as string)).length).toBeLessThan(5);
    await sql('delete from dibs.operations');
  });

  test('that ended are kept, however many others of another caller ended since', async () => {
    const own = (await start(b, 'b.q')).body.id;
    await eventually(async () => expect((await b('GET', `/operations/${own}`)).body.state).toBe('done'));
    await insertEnded('a', 1100);
    await pruneOperations(service)();
    expect((await b('GET', `/operations/${own}`)).status).toBe(200);
    const left = await sql(`select count(*)::integer as count from dibs.operations where actor = 'a'`);
    expect(left).toEqual([{ count: 1000 }]);
    // Many callers, with more than are kept in all: each keeps its newest.
    for (let n = 0; n < 11; n++) await insertEnded(`a${n}`, 990);
    for (let i = 0; i < 3; i++) await pruneOperations(service)();
    expect((await b('GET', `/operations/${own}`)).status).toBe(200);
    expect(await sql('select count(*)::integer as count from dibs.operations')).toEqual([{ count: 10_000 }]);
    await sql('delete from dibs.operations');
  });
});

describe('a table that has too many rows', () => {
  const cut = async (name: 'history' | 'audit', most: number) => {
    const step = cutTable(service, name, most);
    while (await step());
  };

  test('loses the oldest rows of the queues with most history, and no row of others', async () => {
    await sql('delete from dibs.history');
    const insert = (queueId: number, count: number) =>
      sql(
        `insert into dibs.history (queue_id, job_id, event, state, attempt, deliveries)
         select $1, gen_random_uuid(), 'nacked', 'dead', 1, 1 from generate_series(1, $2::integer)`,
        [queueId, count],
      );
    await insert(7, 40);
    await insert(8, 900);
    await insert(9, 15_000);
    await insert(8, 100);
    await insert(7, 10);
    await cut('history', 20_000);
    expect(await sql('select count(*)::integer as count from dibs.history')).toEqual([{ count: 16_050 }]);
    const before = await sql('select id from dibs.history where queue_id = 9 order by id');
    await cut('history', 3000);
    const left = await sql(
      'select queue_id, count(*)::integer as count from dibs.history group by 1 order by 1',
    );
    expect(left.slice(0, 2)).toEqual([
      { queue_id: 7, count: 50 },
      { queue_id: 8, count: 1000 },
    ]);
    const count = left[2]?.count as number;
    expect(count).toBeGreaterThan(1500);
    expect(count).toBeLessThan(1800);
    expect(await sql('select id from dibs.history where queue_id = 9 order by id')).toEqual(
      before.slice(-count),
    );
    await sql('delete from dibs.history');
  });

  test('loses the oldest rows of the callers with most audit, and no row of others', async () => {
    const insert = (actor: string, count: number) =>
      sql(
        `insert into dibs.audit (actor, verb, outcome) select $1, 'v', 'done' from generate_series(1, $2::integer)`,
        [actor, count],
      );
    await sql('delete from dibs.audit');
    await insert('quiet', 20);
    await insert('loud', 3000);
    await insert('louder', 3000);
    await cut('audit', 2000);
    const left = await sql('select actor, count(*)::integer as count from dibs.audit group by 1 order by 1');
    expect(left.at(-1)).toEqual({ actor: 'quiet', count: 20 });
    for (const { count } of left.slice(0, 2)) expect(Math.abs((count as number) - 890)).toBeLessThan(20);
    await sql('delete from dibs.audit');
  });
});
