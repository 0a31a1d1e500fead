import type pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createQueueMemories } from '../../src/claim/queueMemories.ts';
import { type ArrivalMark, createArrivals } from '../../src/floor/arrivals.ts';
import { createRaiseFloor } from '../../src/floor/raiseFloor.ts';
import { createScanFloor } from '../../src/floor/scanFloor.ts';
import { type Piece, rangesOf, type ScanRanges } from '../../src/floor/scanRanges.ts';
import { type Database, openDatabase } from '../../src/postgres/pool.ts';
import { openClient } from '../support/database.ts';
import { oneClaim } from '../support/jobs.ts';
import { buffers, outline, prepare } from '../support/plans.ts';
import { type Service, startService } from '../support/service.ts';
import { until } from '../support/until.ts';

const DEAD = 100_000;
/** More positions than a claim or a survey scans at once. */
const FAR = 200_000;

let service: Service;
let client: pg.Client;
/** Keeps a snapshot open, so that dead entries stay. */
let holder: pg.Client;
beforeAll(async () => {
  service = await startService();
  [client, holder] = await Promise.all([openClient(service.databaseUrl), openClient(service.databaseUrl)]);
  await holder.query('begin isolation level repeatable read');
  await holder.query('select 1');
});
afterAll(async () => {
  await Promise.all([client.end(), holder.end()]);
  await service.stop();
});

async function queueId(queue: string): Promise<number> {
  await service.call('PUT', `/queues/${queue}`, {});
  const { rows } = await client.query('select id from dibs.queues where name = $1', [queue]);
  return rows[0].id;
}

/** Inserts ready jobs and deletes them. Their index entries stay. */
async function makeDead(queue: number): Promise<void> {
  await client.query(
    `insert into dibs.jobs (queue_id, id, state, run_at, priority, max_attempts, payload_bytes, headers, payload)
     select $1, gen_random_uuid(), 'ready', now(), 0, 5, 4, '{}', 'null' from generate_series(1, $2)`,
    [queue, DEAD],
  );
  await client.query('delete from dibs.jobs where queue_id = $1', [queue]);
}

const lastPosition = async () =>
  Number((await client.query('select last_value from dibs.positions')).rows[0].last_value);

/** Others draw this number of positions. */
const drawPositions = (count = FAR) =>
  client.query(`select setval('dibs.positions', (select last_value from dibs.positions) + $1)`, [count]);

const claim = async (queue: string, wish: object = {}) =>
  (await service.call('POST', '/jobs/claim', { queues: [queue], ...wish })).body.jobs as {
    id: string;
    lease_token: string;
  }[];

async function enqueue(queue: string): Promise<string> {
  return (await service.call('POST', '/jobs', { queue })).body.id;
}

/** Enqueues, claims and acks jobs until the scan floor of the queue is above a position. */
async function raiseScanFloor(queue: string): Promise<void> {
  for (let i = 0; i < 8; i++) {
    await service.call('POST', '/jobs/batch', { jobs: Array.from({ length: 20 }, () => ({ queue })) });
    const acks = (await claim(queue, { limit: 20 })).map(({ id, lease_token }) => ({ id, lease_token }));
    await service.call('POST', '/jobs/settle', { acks });
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

test('a claim, a survey and a recall read a bounded number of dead entries', async () => {
  const queue = await queueId('bounded');
  await makeDead(queue);
  const floor = createScanFloor();
  // The narrowest claims and surveys.
  for (let i = 0; i < 5; i++) {
    floor.failed();
    floor.surveyFailed();
  }
  const settled = await lastPosition();
  floor.stored(0, settled - DEAD);
  for (let rank = -100; rank < 0; rank++) floor.stored(rank, settled);
  const { cut } = floor.ranges(settled);
  expect(cut).toEqual({ rank: 0, from: settled - DEAD, to: settled - DEAD + 1024 });
  const ranges = rangesOf([cut as Piece]);
  const everything: ScanRanges = {
    ranks: [0],
    positions: [-1],
    last_ranks: [0],
    last_positions: [Number.MAX_SAFE_INTEGER],
  };
  const claimOf = (scanned: ScanRanges) => ({ ...oneClaim(queue, 10), ...scanned });
  const statements = [
    ['claim/plain', claimOf(ranges), claimOf(everything)],
    [
      'floor/survey',
      { queue_id: queue, has_keys: false, ...ranges },
      { queue_id: queue, has_keys: false, ...everything },
    ],
    [
      'floor/recall',
      { queue_id: queue, has_keys: false, limit: 100, ...ranges },
      { queue_id: queue, has_keys: false, limit: 100, ...everything },
    ],
  ] as const;
  for (const [name, bounded, whole] of statements) {
    const { run } = await prepare(client, name, 'generic');
    const plan = await run(bounded as never);
    expect(buffers(plan), outline(plan)).toBeLessThan(buffers(await run(whole as never)) / 5);
  }
});

test('claims find the jobs behind dead entries, and those of every priority', async () => {
  const queue = await queueId('behind');
  await makeDead(queue);
  const ids = [];
  for (const priority of [-3, 0, 7])
    ids.unshift((await service.call('POST', '/jobs', { queue: 'behind', priority })).body.id);
  const found: string[] = [];
  await until(async () => {
    for (const { id } of await claim('behind', { limit: 3, wait_seconds: 20 })) found.push(id);
    return found.length === 3;
  });
  // Each priority has a floor of its own. On a slow machine, the first claim does not wait until all have risen.
  expect(found.toSorted()).toEqual(ids.toSorted());
});

test('a replica stores the scan floor of a queue from which it leased many jobs, and it goes with the queue', async () => {
  const queue = await queueId('stored');
  const stored = async () => {
    const { rows } = await client.query('select position from dibs.scan_floors where queue_id = $1', [queue]);
    return Number(rows[0]?.position ?? -1);
  };
  const before = await lastPosition();
  await until(async () => {
    await service.call('POST', '/jobs/batch', {
      jobs: Array.from({ length: 1000 }, () => ({ queue: 'stored' })),
    });
    const acks = (await claim('stored', { limit: 1000 })).map(({ id, lease_token }) => ({ id, lease_token }));
    await service.call('POST', '/jobs/settle', { acks });
    return (await stored()) > before;
  });
  await service.call('DELETE', '/queues/stored?force=true');
  expect(await stored()).toBe(-1);
});

test('a fresh replica starts from the stored floor', async () => {
  const queue = await queueId('fresh');
  await drawPositions();
  const end = await lastPosition();
  await client.query('insert into dibs.scan_floors values ($1, 0, $2)', [queue, end]);
  await drawPositions();
  const db = openDatabase(service.databaseUrl, 2);
  const scanned: ScanRanges[] = [];
  const recording: Database = {
    ...db,
    query(statement, parameters) {
      if (statement.parameters.includes('last_ranks')) scanned.push(parameters as unknown as ScanRanges);
      return db.query(statement, parameters);
    },
  };
  const arrivals = createArrivals(recording);
  await arrivals.refresh();
  await until(() => arrivals.committedUpTo() !== undefined);
  const settled = arrivals.committedUpTo() as number;
  const memory = createQueueMemories().of({ id: queue, name: 'fresh' });
  const { raise } = createRaiseFloor({ db: recording, arrivals });
  for (let cut = memory.plain.floor.ranges(settled).cut; cut; cut = memory.plain.floor.ranges(settled).cut)
    await raise(memory.plain, cut, true);
  expect(scanned.length).toBeLessThan(20);
  for (const { ranks, positions } of scanned)
    for (const [i, rank] of ranks.entries()) if (rank === 0) expect(positions[i]).toBeGreaterThanOrEqual(end);
  await db.close();
});

test('a mark is seen once, after the commit of its job, by each replica', async () => {
  const queue = await queueId('marked');
  const db = openDatabase(service.databaseUrl, 2);
  const replicas = [createArrivals(db), createArrivals(db)];
  const seen = replicas.map((): ArrivalMark[] => []);
  for (const [i, replica] of replicas.entries())
    replica.listen({
      marked: (marks) => seen[i]?.push(...marks.filter((mark) => mark.queue_id === queue)),
      setBack: () => undefined,
    });
  const follow = () => Promise.all(replicas.map((replica) => replica.follow()));
  await follow();
  await client.query('begin');
  const enqueueTwice = `select dibs.enqueue('marked'), dibs.enqueue('marked')`;
  await client.query(enqueueTwice);
  await client.query('savepoint later');
  await drawPositions(5000);
  await client.query(enqueueTwice);
  await client.query('rollback to savepoint later');
  await client.query(enqueueTwice);
  await drawPositions(1);
  await follow();
  expect(seen).toEqual([[], []]);
  await client.query('commit');
  const { rows } = await client.query(
    `select j.queue_id, j.position from dibs.jobs j join dibs.queues q on q.id = j.queue_id where name = 'marked' order by position`,
  );
  const [first, , third] = rows.map(({ position }) => Number(position));
  await follow();
  await follow();
  for (const marks of seen)
    expect(marks.map((mark) => mark.first).sort((a, b) => a - b)).toEqual([first, third]);
  await db.close();
});

test('marks that came with a database from another server are dropped, and seen by nobody', async () => {
  const queue = await queueId('foreign');
  await client.query(
    `insert into dibs.arrival_marks values ((pg_current_xact_id()::text::bigint + 1000000)::text::xid8, $1, 0, 9)`,
    [queue],
  );
  const db = openDatabase(service.databaseUrl, 2);
  const replica = createArrivals(db);
  const seen: ArrivalMark[] = [];
  replica.listen({ marked: (marks) => seen.push(...marks), setBack: () => undefined });
  for (let looks = 0; looks < 3; looks++) await replica.follow();
  expect(seen.filter((mark) => mark.queue_id === queue)).toEqual([]);
  const { rows } = await client.query('select from dibs.arrival_marks where queue_id = $1', [queue]);
  expect(rows).toEqual([]);
  await db.close();
});

test('a job that commits late is claimed within 2 s, with dead entries below the floor', async () => {
  const queue = await queueId('late');
  const producer = await openClient(service.databaseUrl);
  await producer.query('begin');
  const { rows } = await producer.query(`select dibs.enqueue('late') as id`);
  await makeDead(queue);
  await raiseScanFloor('late');
  await producer.query('commit');
  await producer.end();
  const [job] = await claim('late', { wait_seconds: 20 });
  expect(job?.id).toBe(rows[0].id);
});

test('a job that Dibs itself commits late is claimed all the same', async () => {
  await queueId('waited');
  /** The enqueue waits for another one's key. On a slow machine it may give up before the floor is raised. */
  async function enqueueLate(): Promise<string | undefined> {
    await client.query('begin');
    await client.query(`select dibs.enqueue('waited', unique_key => 'k')`);
    const enqueued = service.call('POST', '/jobs', { queue: 'waited', unique_key: 'k' });
    await raiseScanFloor('waited');
    await client.query('rollback');
    const { status, body } = await enqueued;
    return status === 201 ? body.id : undefined;
  }
  const id = await until(enqueueLate, { withinMs: 100_000 });
  expect((await claim('waited', { wait_seconds: 20 })).map((job) => job.id)).toEqual([id]);
});

test('jobs from dibs.enqueue keep their order of arrival', async () => {
  await queueId('order');
  const enqueued: string[] = [];
  const claimed: string[] = [];
  for (let i = 0; i < 200; i++) {
    const { rows } = await client.query(`select dibs.enqueue('order') as id`);
    enqueued.push(rows[0].id);
    if (i % 3 === 0) claimed.push(...(await claim('order')).map(({ id }) => id));
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  claimed.push(...(await claim('order', { limit: 1000 })).map(({ id }) => id));
  expect(claimed).toEqual(enqueued);
});

test('a job that somebody keeps locked does not hide those far behind it', async () => {
  await queueId('held');
  const first = await enqueue('held');
  await client.query('begin');
  await client.query('select from dibs.jobs where id = $1 for update', [first]);
  await drawPositions();
  const second = await enqueue('held');
  await drawPositions();
  // By then the replica knows how long the order is.
  await new Promise((resolve) => setTimeout(resolve, 1000));
  // The lease outlasts the search for the first job.
  const found = await claim('held', { wait_seconds: 60, lease_seconds: 600 });
  expect(found.map(({ id }) => id)).toEqual([second]);
  await client.query('rollback');
  // Nobody tells that it is free. A patrol finds it. On a slow machine, that rests long after each piece.
  let last: typeof found = [];
  for (let i = 0; i < 4 && last.length === 0; i++) last = await claim('held', { wait_seconds: 60 });
  const { rows } = await client.query('select state, position from dibs.jobs where id = $1', [first]);
  const why = JSON.stringify({ rows, errors: service.errors.map(String) });
  expect(
    last.map(({ id }) => id),
    why,
  ).toEqual([first]);
}, 300_000);

test('a claim that waits for a locked job far from all others does not look all the time', async () => {
  await queueId('waits');
  const id = await enqueue('waits');
  await client.query('begin');
  await client.query('select from dibs.jobs where id = $1 for update', [id]);
  await drawPositions();
  const waiting = claim('waits', { wait_seconds: 60 });
  await new Promise((resolve) => setTimeout(resolve, 2000));
  const scans = async () =>
    Number(
      (await holder.query(`select idx_scan from pg_stat_all_indexes where indexrelname = 'jobs_ready'`))
        .rows[0].idx_scan,
    );
  await holder.query('rollback');
  const before = await scans();
  await new Promise((resolve) => setTimeout(resolve, 3000));
  // Once a second it looks by itself. A walk below the floors, and one survey of each rank, scan the index some hundred times.
  expect((await scans()) - before).toBeLessThan(3000);
  await client.query('rollback');
  expect((await waiting).map((job) => job.id)).toEqual([id]);
});

test('a database set back in time is noticed at once', async () => {
  const own = await startService();
  const restored = await openClient(own.databaseUrl);
  const jobs = Array.from({ length: 20 }, () => ({ queue: 'restored' }));
  for (let i = 0; i < 8; i++) {
    await own.call('POST', '/jobs/batch', { jobs });
    await own.call('POST', '/jobs/claim', { queues: ['restored'], limit: 20 });
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  await restored.query(`insert into dibs.scan_floors select id, 0, 100 from dibs.queues`);
  // This one belongs to the data that came back.
  await restored.query(`insert into dibs.scan_floors select id, 5, 1 from dibs.queues`);
  await restored.query(`select setval('dibs.positions', 1)`);
  const { body: job } = await own.call('POST', '/jobs', { queue: 'restored' });
  const { body } = await own.call('POST', '/jobs/claim', { queues: ['restored'], wait_seconds: 20 });
  expect(body.jobs.map(({ id }: { id: string }) => id)).toEqual([job.id]);
  const floors = async () => (await restored.query('select rank from dibs.scan_floors')).rows;
  await until(async () => (await floors()).length === 1);
  expect(await floors()).toEqual([{ rank: 5 }]);
  await restored.end();
  await own.stop();
});
