import { afterAll, beforeAll, expect, test } from 'vitest';
import { openTransaction } from '../support/beside.ts';
import { eventually, expectProblem, moves } from '../support/moves.ts';
import { served } from '../support/served.ts';
import { type Service, startService } from '../support/service.ts';
import { databaseOf, onAll, onQueue } from '../support/severalDatabases.ts';

/*
 * A transaction of a user may stay open for any time. It must not lock what others need.
 */

let here: Service;
let there: Service;
let at: ReturnType<typeof moves>;
beforeAll(async () => {
  here = await startService();
  there = await startService({ databaseUrl: here.databaseUrl });
  at = moves(here);
});
afterAll(async () => {
  await there.stop();
  await here.stop();
});

const all = <T>(times: number, work: (i: number) => Promise<T>) =>
  Promise.all(Array.from({ length: times }, (_, i) => work(i)));

const isFair = async (queue: string) =>
  (
    await onAll<{ fair: boolean }>(here.databaseUrl, 'select fair from dibs.queues where name = $1', [queue])
  )[0]?.fair;

const marksOf = (queue: string) =>
  onAll(
    here.databaseUrl,
    'select from dibs.fair_marks m join dibs.queues q on q.id = m.queue_id where q.name = $1',
    [queue],
  );

test('an open transaction with a fairness key holds up nobody: no enqueue, no claim, no change of the queue', async () => {
  const queue = at.newQueue('open');
  await at.enqueue({ queue, payload: 'before' });
  const users = await all(3, async (i) => {
    const user = await openTransaction(await databaseOf(here.databaseUrl, queue));
    for (const key of ['a', 'b'])
      await user.query('select dibs.enqueue($1, to_json($2::text), fairness_key => $3)', [
        queue,
        `${key}${i}`,
        key,
      ]);
    return user;
  });
  const waiting = await onAll(
    here.databaseUrl,
    `select mode, relation::regclass::text from pg_locks join pg_stat_activity using (pid)
     where not granted and datname = current_database()`,
  );
  expect(waiting).toEqual([]);
  // Each of these used to be 503, as long as the transactions were open.
  const answers = await all(50, (i) =>
    served(() =>
      (i % 2 ? here : there).call('POST', '/jobs', { queue, payload: i, fairness_key: `k${i % 3}` }),
    ),
  );
  expect(answers.map(({ status }) => status)).toEqual(Array(50).fill(201));
  for (const [method, path, body] of [
    ['PUT', '', { max_attempts: 3 }],
    ['POST', '/pause', undefined],
    ['POST', '/resume', undefined],
  ] as const)
    expect((await served(() => here.call(method, `/queues/${queue}${path}`, body))).status).toBe(200);
  const found = new Set<unknown>();
  await eventually(async () => {
    for (const payload of await at.drain(queue)) found.add(payload);
    expect(found.size).toBe(51);
  });
  for (const user of users) await user.end('commit');
  const jobs = await eventually(async () => {
    const found = await at.claim(queue, { limit: 10 });
    expect(found).toHaveLength(6);
    return found;
  });
  expect(jobs.map((job) => job.fairness_key).sort()).toEqual(['a', 'a', 'a', 'b', 'b', 'b']);
  // These marks came when the queue had its mark.
  await at.ok('GET', `/queues/${queue}`);
  expect(await marksOf(queue)).toEqual([]);
});

test('jobs with fairness keys that came by SQL alone are found, and their queue is marked, by any replica', async () => {
  for (const [more, claimant] of [
    [{}, here],
    [{ delay_seconds: 0.3 }, there],
    [{ group: 'g' }, here],
  ] as const) {
    const queue = at.newQueue('sql');
    await at.configure(queue, { max_attempts: 7 });
    const wish = { wait_seconds: 20 };
    const claim = moves(claimant).claimOne(queue, wish);
    await onQueue(
      here.databaseUrl,
      queue,
      'select dibs.enqueue($1, fairness_key => $2, delay_seconds => $3, "group" => $4)',
      [queue, 'k', 'delay_seconds' in more ? more.delay_seconds : null, 'group' in more ? more.group : null],
    );
    expect(await claim).toMatchObject({ fairness_key: 'k', max_attempts: 7 });
    expect(await isFair(queue)).toBe(true);
    expect(await marksOf(queue)).toEqual([]);
    expect(await at.ok('GET', `/queues/${queue}`)).not.toHaveProperty('becomes_fair');
  }
});

test('a transaction that is rolled back leaves no mark', async () => {
  const queue = at.newQueue('rollback');
  await at.configure(queue, {});
  const user = await openTransaction(await databaseOf(here.databaseUrl, queue));
  await user.query(`select dibs.enqueue($1, fairness_key => 'k')`, [queue]);
  await user.end('rollback');
  await at.ok('GET', `/queues/${queue}`);
  expect(await isFair(queue)).toBe(false);
});

test('while an open transaction has created queues, others get 503 for these alone, and other queues are served', async () => {
  const names = Array.from({ length: 8 }, () => at.newQueue('created'));
  const other = at.newQueue('other');
  await at.configure(other, {});
  const user = await openTransaction(here.databaseUrl);
  for (const name of names) await user.query('select dibs.enqueue($1)', [name]);
  const started = performance.now();
  const refused = all(40, async (i) => {
    const path = `/queues/${names[i % 8]}`;
    if (i % 3 === 0) return here.call('PUT', path, {});
    if (i % 3 === 1) return here.call('POST', `${path}/pause`);
    return here.call('POST', '/jobs', { queue: names[i % 8] });
  });
  const others = await all(20, () => served(() => here.call('POST', '/jobs', { queue: other })));
  expect(others.map(({ status }) => status)).toEqual(Array(20).fill(201));
  expect((await served(() => here.call('PUT', `/queues/${other}`, { max_attempts: 2 }))).status).toBe(200);
  for (const answer of await refused) expectProblem(answer, 503, 'unavailable');
  // 2.5 to 5.5 s, but for a slow machine. One after the other, they would take more than this.
  expect(performance.now() - started).toBeLessThan(60_000);
  await user.end('commit');
  for (const queue of names)
    expect((await served(() => here.call('POST', '/jobs', { queue }))).status).toBe(201);
});
