import { afterAll, beforeAll, expect, test } from 'vitest';
import { createCountCache } from '../../src/counting/countCache.ts';
import { createDepths } from '../../src/counting/depths.ts';
import { createSampler } from '../../src/counting/sampler.ts';
import { createTally } from '../../src/metrics/tally.ts';
import { createTotals } from '../../src/metrics/totals.ts';
import { type Database, openDatabase } from '../../src/postgres/pool.ts';
import { as, speakingAccess } from '../support/access.ts';
import { onServer, SERVING_ROLE } from '../support/database.ts';
import { moves } from '../support/moves.ts';
import { type Service, startService } from '../support/service.ts';
import { until } from '../support/until.ts';

let service: Service;
let at: ReturnType<typeof moves>;
let owner: Database;
beforeAll(async () => {
  service = await startService({ access: speakingAccess() });
  at = moves({ ...service, call: as(service, 'all@*') });
  // The duty of the service would write a minute when it wants.
  await sql(`revoke insert on dibs.samples from "${SERVING_ROLE}"`);
  owner = openDatabase(service.databaseUrl, 2);
});
afterAll(async () => {
  await owner.close();
  await service.stop();
});

const sql = <Row extends object>(text: string) =>
  onServer<Row & Record<string, unknown>>(service.databaseUrl, text);

/** The duty of a replica that has counted all queues once. */
async function sampler(db = owner) {
  const totals = createTotals({ db, tally: createTally(() => Date.now()), most: 100 });
  const depths = createDepths({ db, totals, cache: createCountCache(db, () => '-infinity') });
  await until(async () => {
    await totals.flush();
    await depths.countNow();
    return depths.sumOfOthers() !== undefined;
  });
  return createSampler({ db, totals, depths });
}

/** Waits until the totals of this queue have come to the database. */
const total = (queue: string, column: string, n: number) =>
  until(
    async () => {
      const [row] = await sql<{ n: number }>(
        `select ${column}::integer as n from dibs.totals t join dibs.queues q on q.id = t.queue_id where name = '${queue}'`,
      );
      return row?.n === n;
    },
    { what: `${n} ${column} in the totals of ${queue}` },
  );

/** Two replicas write this minute. */
async function writeNow() {
  const both = [await sampler(), await sampler()];
  await Promise.all(both.map((one) => one.write()));
}

test('tells the minutes before somebody looked: depths, and rates as the difference of two minutes; each key sees its queues', async () => {
  await at.enqueueAll([{ queue: 'mail' }, { queue: 'mail' }, { queue: 'mail', delay_seconds: 60_000 }]);
  await at.enqueue({ queue: 'sms' });
  await total('mail', 'enqueued', 3);
  await total('sms', 'enqueued', 1);
  await sql('delete from dibs.samples');
  await writeNow();
  // The test waits for no minute to pass.
  await sql(`update dibs.samples set minute = minute - interval '10 minutes'`);
  await at.settle('ack', await at.claimOne('mail'));
  await at.settle('nack', await at.claimOne('mail'), { retry: false });
  await total('mail', 'dead', 1);
  await sql(
    `insert into dibs.samples (minute, queue_id, ready) values (now() - interval '25 hours', 0, 1), (now() - interval '25 hours', 1, 1)`,
  );
  await writeNow();
  await sql(`update dibs.samples s set minute = last.minute - interval '1 minute'
             from (select max(minute) as minute from dibs.samples) last where s.minute < last.minute`);
  expect(await sql('select from dibs.samples group by minute')).toHaveLength(2);

  const samples = await at.ok('GET', '/overview/samples?minutes=5');
  expect(samples.at).toHaveLength(5);
  expect(Date.parse(samples.at[4]) - Date.parse(samples.at[3])).toBe(60_000);
  const none = [null, null, null];
  const mail = {
    name: 'mail',
    ready: [...none, 2, 0],
    waiting: [...none, 3, 1],
    leased: [...none, 0, 0],
    dead: [...none, 0, 1],
    oldest_ready_age_seconds: [...none, expect.any(Number), null],
    enqueued: [...none, null, 0],
    acked: [...none, null, 0.0167],
    failed: [...none, null, 0.0167],
    became_dead: [...none, null, 0.0167],
  };
  expect(samples.queues.find(({ name }: { name: string }) => name === 'mail')).toEqual(mail);
  expect(samples.all).toMatchObject({ waiting: [...none, 4, 2], acked: [...none, null, 0.0167] });
  const own = (await as(service, 'read@mail*')('GET', '/overview/samples?minutes=2')).body;
  expect(own.queues.map(({ name }: { name: string }) => name)).toEqual(['mail']);
  expect(own.all).toMatchObject({ waiting: [3, 1], dead: [0, 1], enqueued: [null, 0] });
  const one = await at.ok('GET', '/overview/samples?minutes=2&queue=sms');
  expect(one).not.toHaveProperty('all');
  expect(one.queues).toMatchObject([{ name: 'sms', waiting: [1, 1] }]);
  expect(await at.ok('GET', '/overview/samples?queue=nowhere')).toEqual({ at: [], queues: [] });
});

test('a day has no more points than an hour or two: they are farther apart, and rates are those of the time between', async () => {
  await sql('delete from dibs.samples');
  await sql(`insert into dibs.samples (minute, queue_id, ready, enqueued)
             select date_trunc('minute', now()) - i * interval '1 minute', 0, i, 1000000 - 60 * i from generate_series(0, 1440) as i`);
  const { at: times, all } = await at.ok('GET', '/overview/samples?minutes=1440');
  expect(times).toHaveLength(120);
  expect(Date.parse(times[1]) - Date.parse(times[0])).toBe(12 * 60_000);
  expect(new Set(all.enqueued.slice(1))).toEqual(new Set([1]));
});

test('minutes that nobody wrote, because nothing moved, tell what stood before. Where something did move, nobody knows', async () => {
  await sql('delete from dibs.samples');
  await sql(`insert into dibs.samples (minute, queue_id, ready, waiting, leased, dead, oldest_ready_seconds, enqueued, acked, failed, died)
             select date_trunc('minute', now()) - ago * interval '1 minute', 0, ready, ready, 0, 0, age, enqueued, 0, 0, 0
             from (values (40, 7, 5, 70), (4, 7, 2165, 70), (1, 9, 8, 130), (0, 9, 68, 130)) as n (ago, ready, age, enqueued)`);
  const { all } = await at.ok('GET', '/overview/samples?minutes=8');
  expect(all.ready).toEqual([7, 7, 7, 7, null, null, 9, 9]);
  expect(all.enqueued).toEqual([0, 0, 0, 0, null, null, null, 0]);
  expect(all.oldest_ready_age_seconds.slice(0, 2)).toEqual([1985, 2045]);
  // The last of the minutes of a point counts, though it was not written: 8 of 40 points.
  const day = await at.ok('GET', '/overview/samples?minutes=240');
  expect(day.at).toHaveLength(120);
  expect(day.all.ready.slice(-18, -4)).toEqual(Array.from({ length: 14 }, () => 7));
});

test('where there is nothing, nothing is written', async () => {
  const empty = await startService();
  try {
    expect(await (await sampler(empty.db)).write()).toBe(false);
    expect(await onServer(empty.databaseUrl, 'select from dibs.samples')).toEqual([]);
    expect((await empty.call('GET', '/overview/samples')).body).toMatchObject({ at: [], queues: [] });
  } finally {
    await empty.stop();
  }
});
