import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { onServer } from '../support/database.ts';
import { eventually, moves } from '../support/moves.ts';
import { hourly, rewind, secondsFrom } from '../support/schedules.ts';
import { type Service, startService } from '../support/service.ts';

// biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every kind.
type Json = any;

const EVERY_SECOND = '* * * * * *';

let service: Service;
let at: ReturnType<typeof moves>;
let name: string;
let queue: string;
beforeAll(async () => {
  service = await startService();
  at = moves(service);
});
beforeEach(() => {
  name = at.newQueue('s');
  queue = at.newQueue();
});
afterAll(() => service.stop());

const put = (body: object, as = name): Promise<Json> => at.ok('PUT', `/schedules/${as}`, body);
const get = (as = name): Promise<Json> => at.ok('GET', `/schedules/${as}`);
const jobsOf = async (of: string): Promise<Json[]> =>
  (await at.ok('GET', `/jobs?queue=${of}&limit=1000`)).jobs;

/** Fills a queue, so that it refuses the next job. One outside of `home` would take the job of a tick. */
async function fill(): Promise<void> {
  await at.configure(queue, { database: 'home', max_ready: 1 });
  await at.enqueue({ queue });
}

/** Puts schedules whose ticks came so many seconds ago. */
const putDue = (groups: { prefix: string; count: number; job: object; seconds: number }[]) =>
  onServer(
    service.databaseUrl,
    `insert into dibs.schedules (name, cron, timezone, paused, job, next_run_at, revision)
     select prefix || i, $1, 'UTC', false, job, date_trunc('second', now()) - seconds * interval '1 s', gen_random_uuid()
     from json_to_recordset($2) as line (prefix text, count integer, job json, seconds integer)
     cross join lateral generate_series(1, count) as i`,
    [hourly(), JSON.stringify(groups)],
  );

const refusedMoreThan = (times: number) =>
  eventually(async () => {
    const [row] = await onServer<{ refusals: number }>(
      service.databaseUrl,
      'select refusals from dibs.schedules where name = $1',
      [name],
    );
    expect(row?.refusals).toBeGreaterThan(times);
  });

test('a refused schedule says why, and when it is tried again', async () => {
  await fill();
  await put({ cron: hourly(), job: { queue } });
  const due = await rewind(service.databaseUrl, name, 1);
  await refusedMoreThan(1);
  const refused = await get();
  expect(refused).toMatchObject({ next_run_at: due, last_error: expect.stringContaining('is full') });
  expect(Date.parse(refused.retry_at)).toBeGreaterThan(Date.parse(due));
  const { schedules } = await at.ok('GET', '/schedules?limit=1000');
  expect(schedules.find((one: Json) => one.name === name).last_error).toContain('is full');
  // What was read can be put back. Its tick is tried again at once.
  expect(await put(refused)).toMatchObject({ next_run_at: due, last_error: null, retry_at: null });
  expect(service.errors.map(String).filter((line) => line.includes(queue)).length).toBeLessThan(5);
});

test('one job makes up for all ticks that a schedule missed while it was refused, and its error is gone', async () => {
  await fill();
  await put({ cron: hourly(), job: { queue } });
  await rewind(service.databaseUrl, name, 5 * 3600);
  await refusedMoreThan(2);
  await at.configure(queue, { max_ready: 100 });
  const { last_run_at, next_run_at } = await eventually(async () => {
    const schedule = await get();
    expect(schedule).toMatchObject({ last_error: null, retry_at: null });
    return schedule;
  });
  expect(await jobsOf(queue)).toHaveLength(2);
  expect(Date.parse(next_run_at)).toBeGreaterThan(Date.now());
  expect(Date.parse(next_run_at) - Date.parse(last_run_at)).toBe(3_600_000);
});

test('two thousand refused schedules that are due longest take no tick of another', async () => {
  await fill();
  await putDue([{ prefix: `${name}.refused.`, count: 2000, job: { queue }, seconds: 60 }]);
  const [other, otherQueue] = [at.newQueue('s'), at.newQueue()];
  const { next_run_at: first } = await put({ cron: EVERY_SECOND, job: { queue: otherQueue } }, other);
  await eventually(async () => {
    const [row] = await onServer<{ tried: number }>(
      service.databaseUrl,
      `select count(*)::integer as tried from dibs.schedules where name like $1 and refusals > 2`,
      [`${name}.refused.%`],
    );
    expect(row?.tried).toBe(2000);
  });
  const { last_run_at } = await put({ cron: EVERY_SECOND, paused: true, job: { queue: otherQueue } }, other);
  expect(await jobsOf(otherQueue)).toHaveLength(secondsFrom(first, last_run_at));
  await onServer(service.databaseUrl, 'delete from dibs.schedules where name like $1', [`${name}.refused.%`]);
});

test('ticks come in the order of their times, however many are due', async () => {
  const early = at.newQueue();
  const late = at.newQueue();
  await Promise.all([early, late].map((one) => at.configure(one, {})));
  await putDue([
    { prefix: `${name}.late.`, count: 700, job: { queue: late }, seconds: 5 },
    { prefix: `${name}.early.`, count: 100, job: { queue: early }, seconds: 50 },
  ]);
  await eventually(async () => expect(await jobsOf(late)).toHaveLength(700));
  const times = async (of: string) => (await jobsOf(of)).map((job) => job.created_at).sort();
  const [earlies, lates] = [await times(early), await times(late)];
  expect(earlies).toHaveLength(100);
  // A look takes some of those that are due longest. So one of the last may be passed over for some looks.
  expect(lates.filter((time) => time < earlies.at(-5)).length).toBeLessThan(350);
});
