import type pg from 'pg';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createScanFloor } from '../../src/floor/scanFloor.ts';
import { type Piece, rangesOf, type ScanRanges } from '../../src/floor/scanRanges.ts';
import { planned } from '../../src/postgres/statements.ts';
import { openClient } from '../support/database.ts';
import { oneFairClaim, oneFrontClaim } from '../support/jobs.ts';
import { moves } from '../support/moves.ts';
import { buffers, outline, prepare } from '../support/plans.ts';
import { type Service, startService } from '../support/service.ts';
import { rowsOf, type StatementName } from '../support/statements.ts';
import { until } from '../support/until.ts';

const DEAD = 100_000;
/** More positions than a claim or a survey scans at once. */
const FAR = 200_000;

let service: Service;
let at: ReturnType<typeof moves>;
let client: pg.Client;
/** Keeps a snapshot open, so that dead entries stay. */
let holder: pg.Client;
let queue: string;
/** How many walks ran into their time limits. */
let timeOuts: number;
/** As if surveys for keys took long at priority 0 among these positions, and no time elsewhere, on any machine. */
let surveysAreSlowIn: { first: number; last: number } | undefined;
/** While true, each walk from key to key runs into its time limit, as over millions of dead entries. */
let isSlow: boolean;
/** While true, each walk seems to have taken 20 ms, and each claim of the front 1 ms. */
let isDear: boolean;
/** The claiming statements that ran. */
let ways: (string | undefined)[];
beforeAll(async () => {
  service = await startService();
  at = moves(service);
  [client, holder] = await Promise.all([openClient(service.databaseUrl), openClient(service.databaseUrl)]);
  await holder.query('begin isolation level repeatable read');
  await holder.query('select 1');
  const { pipeline } = service.db;
  const { query } = service.db;
  service.db.query = async (statement, parameters, turn) => {
    const rows = await query(statement, parameters, turn);
    const dead = surveysAreSlowIn;
    if (!dead || statement.text !== planned('floor/survey').text) return rows;
    const { has_keys, ranks, positions, last_positions } = parameters as unknown as ScanRanges & {
      has_keys: boolean;
    };
    const at = ranks.findIndex(
      (rank, i) =>
        rank === 0 && (positions[i] as number) < dead.last && (last_positions[i] as number) >= dead.first,
    );
    const [{ ends }] = rows as unknown as [{ ends: string }];
    const slower = ends.split(',').map((_, i) => (has_keys && at >= 0 && i >= at ? 30 : 0));
    return [{ ...rows[0], ends: slower.join() }] as typeof rows;
  };
  const sleep = { text: 'select pg_sleep(60)', parameters: [] };
  service.db.pipeline = async (calls, sent, turn) => {
    const slow = calls.map((call) =>
      isSlow && call.statement.name === 'claim/fair' ? { ...call, statement: sleep } : call,
    );
    try {
      const results = await pipeline(slow, sent, turn);
      const names = calls.map(({ statement }) => statement.name);
      ways.push(...names.filter((name) => name?.startsWith('claim/f')));
      if (!isDear) return results;
      return results.map((rows, i) => {
        const ms = { 'claim/fair': 20, 'claim/front': 1 }[names[i] as string];
        return ms === undefined ? rows : rows.map((row) => ({ ...row, ms }));
      });
    } catch (error) {
      if (slow.some(({ statement }) => statement === sleep)) timeOuts++;
      throw error;
    }
  };
});
beforeEach(() => {
  queue = at.newQueue();
  isSlow = true;
  isDear = false;
  ways = [];
  surveysAreSlowIn = undefined;
  timeOuts = 0;
});
afterAll(async () => {
  await Promise.all([client.end(), holder.end()]);
  await service.stop();
});

async function queueId(): Promise<number> {
  await at.configure(queue, {});
  const { rows } = await client.query('select id from dibs.queues where name = $1', [queue]);
  return rows[0].id;
}

/** Inserts ready jobs with three fairness keys, and deletes them. Their index entries stay. */
async function makeDead(queue: number): Promise<void> {
  await client.query(
    `insert into dibs.jobs (queue_id, id, state, run_at, priority, max_attempts, payload_bytes, headers, payload, fairness_key)
     select $1, gen_random_uuid(), 'ready', now(), 0, 5, 4, '{}', 'null', 'key-' || n % 3 from generate_series(1, $2) n`,
    [queue, DEAD],
  );
  await client.query('delete from dibs.jobs where queue_id = $1', [queue]);
}

const lastPosition = async () =>
  Number((await client.query('select last_value from dibs.positions')).rows[0].last_value);

/** Others draw this number of positions. */
const drawPositions = (count = FAR) =>
  client.query(`select setval('dibs.positions', (select last_value from dibs.positions) + $1)`, [count]);

/** Enqueues a job for each letter, which is its key. A dot has no key. The payload is the letter and its number: `A1`. */
async function enqueue(keys: string, more: object = {}): Promise<{ id: string }[]> {
  const counts = new Map<string, number>();
  return at.enqueueAll(
    [...keys].map((key) => {
      const n = (counts.get(key) ?? 0) + 1;
      counts.set(key, n);
      return { queue, payload: `${key}${n}`, ...(key === '.' ? {} : { fairness_key: key }), ...more };
    }),
  );
}

const claim = async (limit: number, wish: object = {}) =>
  (await at.claim(queue, { limit, ...wish })).map((job) => job.payload).join(' ');

test('claims whose walk over the keys runs into its time limit get their jobs all the same, in turn', async () => {
  await enqueue('AAAABB..');
  expect(await claim(2)).toBe('A1 B1');
  expect(await claim(100)).toBe('.1 A2 B2 .2 A3 A4');
  expect(await claim(1)).toBe('');
  expect(timeOuts).toBeGreaterThan(0);
});

test('so do claims with a claim_id, and those of a queue with a claim limit', async () => {
  await enqueue('AAB');
  const worker = { worker: 'w', claim_id: 'c' };
  expect(await claim(2, worker)).toBe('A1 B1');
  expect(await claim(2, worker)).toBe('A1 B1');
  queue = at.newQueue();
  await at.configure(queue, { max_leased: 2 });
  await enqueue('AAB');
  expect(await claim(100)).toBe('A1 B1');
  expect(await claim(100)).toBe('');
  expect(timeOuts).toBeGreaterThan(0);
});

test('claims whose walk is dear take the front while it holds all jobs, in the same turns', async () => {
  isSlow = false;
  isDear = true;
  await makeDead(await queueId());
  await enqueue('AB.'.repeat(300));
  const found: string[] = [];
  // Surveys go over what is gone, while claims walk. On a slow machine, they take longer than the first three claims.
  await until(async () => {
    found.push(await claim(1));
    return ways.length >= 10 && ways.slice(-10).every((way) => way === 'claim/front');
  });
  const last = found.slice(-10);
  const first = 'AB.'.indexOf(last[0]?.[0] as string);
  expect(last.map((job) => job[0])).toEqual(last.map((_, i) => 'AB.'[(first + i) % 3]));
  for (const key of 'AB.') {
    const own = found.filter((job) => job.startsWith(key));
    expect(own).toEqual(own.map((_, i) => `${key}${i + 1}`));
  }
  expect(timeOuts).toBe(0);
});

test('they walk where the front holds only some of the jobs', async () => {
  isSlow = false;
  isDear = true;
  await queueId();
  for (let i = 0; i < 5; i++) await enqueue('A'.repeat(1000));
  await enqueue('B');
  for (let i = 0; i < 8; i++) await claim(1);
  expect(ways.filter((way) => way === 'claim/front').length).toBeLessThanOrEqual(2);
  expect(ways.at(-1)).toBe('claim/fair');
});

test('once the walk is quick again, claims walk', async () => {
  await enqueue('AAB');
  expect(await claim(1)).toBe('A1');
  isSlow = false;
  const walked = async () => {
    const { rows } = await client.query(
      `select calls from (select sum(idx_scan)::integer as calls from pg_stat_all_indexes where indexrelname = 'jobs_fair') as s`,
    );
    return rows[0].calls as number;
  };
  const before = await walked();
  await until(async () => {
    await claim(1, { lease_seconds: 1 });
    return (await walked()) > before;
  });
});

test('a claim of the front, a survey and a recall read a bounded number of dead entries of jobs with fairness keys', async () => {
  const id = await queueId();
  await makeDead(id);
  const floor = createScanFloor();
  // The narrowest claims and surveys.
  for (let i = 0; i < 5; i++) {
    floor.failed();
    floor.surveyFailed();
  }
  const settled = await lastPosition();
  floor.stored(0, settled - DEAD);
  for (let rank = -100; rank < 0; rank++) floor.stored(rank, settled);
  const piece = floor.ranges(settled).cut as Piece;
  const everything = { rank: 0, from: -1, to: Number.MAX_SAFE_INTEGER };
  const frontClaim = (scanned: Piece) => {
    const { ranks, positions, last_ranks, last_positions } = rangesOf([scanned]);
    return {
      ...oneFrontClaim(id, 10),
      fair_ranks: ranks,
      fair_positions: positions,
      fair_last_ranks: last_ranks,
      fair_last_positions: last_positions,
    };
  };
  const searched = (scanned: Piece) => ({ queue_id: id, has_keys: true, limit: 100, ...rangesOf([scanned]) });
  const statements: [StatementName, (scanned: Piece) => object][] = [
    ['claim/front', frontClaim],
    ['floor/survey', searched],
    ['floor/recall', searched],
  ];
  for (const [name, parameters] of statements) {
    const { run } = await prepare(client, name, 'generic');
    const plan = await run(parameters(piece) as never);
    expect(buffers(plan), `${name}\n${outline(plan)}`).toBeLessThan(
      buffers(await run(parameters(everything) as never)) / 5,
    );
  }
});

test('claims find the jobs behind dead entries, with and without keys, of every priority', async () => {
  await makeDead(await queueId());
  for (const priority of [-3, 0, 7]) await enqueue('A.', { priority });
  await drawPositions();
  // By then the replica knows how long the order is.
  await new Promise((resolve) => setTimeout(resolve, 1000));
  const found: string[] = [];
  await until(async () => {
    for (const job of await at.claim(queue, { limit: 6, wait_seconds: 20 }))
      found.push(`${job.priority}${job.payload}`);
    return found.length === 6;
  });
  // Each kind has floors of its own. Those of one may rise first.
  expect(found.filter((job) => job.endsWith('A1'))).toEqual(['7A1', '0A1', '-3A1']);
  expect(found.filter((job) => job.endsWith('.1'))).toEqual(['7.1', '0.1', '-3.1']);
});

test('a replica stores the scan floor of the jobs with fairness keys, apart from that of the others', async () => {
  const id = await queueId();
  await makeDead(id);
  const end = await lastPosition();
  await drawPositions();
  surveysAreSlowIn = { first: end - DEAD, last: end };
  const [stored] = await until(async () => {
    // The replica may not know yet how long the order is. Then the next claim raises the floor.
    await enqueue('A');
    expect(await claim(1, { wait_seconds: 20 })).toBe('A1');
    const { rows } = await client.query(
      'select position::integer, fair_position::integer from dibs.scan_floors where queue_id = $1 and rank = 0',
      [id],
    );
    return rows.length > 0 && rows;
  });
  expect(stored.fair_position).toBeGreaterThan(end - DEAD);
  expect(stored.position).toBe(-1);
});

test('dibs.enqueue marks jobs with keys, too: its transaction may commit late', async () => {
  const id = await queueId();
  const marksOf = async () =>
    (await client.query('select from dibs.arrival_marks where queue_id = $1', [id])).rows.length;
  for (const key of [null, 'B']) {
    const before = await marksOf();
    await client.query('select dibs.enqueue($1, fairness_key => $2)', [queue, key]);
    expect(await marksOf()).toBe(before + 1);
  }
});

test('a job with a key that commits late, below the scan floor, is claimed within 2 s', async () => {
  const producer = await openClient(service.databaseUrl);
  await queueId();
  await enqueue('A');
  expect(await claim(1)).toBe('A1');
  await producer.query('begin');
  await producer.query(`select dibs.enqueue($1, '"late"', fairness_key => 'B')`, [queue]);
  await drawPositions();
  await new Promise((resolve) => setTimeout(resolve, 1000));
  await enqueue('A');
  expect(await claim(1, { wait_seconds: 20 })).toBe('A1');
  await producer.query('commit');
  await producer.end();
  expect(await claim(1, { wait_seconds: 20 })).toBe('late');
});

test('the front gives the same jobs in the same order as the walk, when it holds all of them', async () => {
  const id = await queueId();
  const random = (most: number) => Math.floor(Math.random() * most);
  for (let round = 0; round < 30; round++) {
    await client.query('delete from dibs.jobs where queue_id = $1', [id]);
    await enqueue(Array.from({ length: 1 + random(40) }, () => 'ABCDE..'[random(1 + random(7))]).join(''), {
      priority: random(3),
    });
    await enqueue(Array.from({ length: 1 + random(40) }, () => 'ABCDE..'[random(1 + random(7))]).join(''));
    const slots = 1 + random(90);
    const cursor = {
      cursor_ranks: [0, -1],
      cursor_keys: [['', 'A', 'C', 'E', 'X'][random(5)] as string, 'B'],
    };
    const leased = async (name: 'claim/fair' | 'claim/front', parameters: object) => {
      await client.query('begin');
      const rows = await rowsOf(client, name, { ...parameters, ...cursor } as never);
      await client.query('rollback');
      return rows.sort((a, b) => a.slot - b.slot).map((row) => row.id);
    };
    expect(await leased('claim/front', oneFrontClaim(id, slots))).toEqual(
      await leased('claim/fair', oneFairClaim(id, slots)),
    );
  }
});

test('a claim of the front finds its job, whatever a vacuum among dead entries noted of the indexes', async () => {
  const id = await queueId();
  await makeDead(id);
  await drawPositions();
  await new Promise((resolve) => setTimeout(resolve, 1000));
  // As they are after a vacuum of the table while jobs were there, and one of the index among its dead entries.
  const other = at.newQueue();
  await at.enqueueAll(Array.from({ length: 100 }, () => ({ queue: other, payload: 0 })));
  await client.query('analyze dibs.jobs');
  await client.query(
    `update pg_class
     set relpages = pg_relation_size(oid) / 8192, reltuples = case relname when 'jobs' then $1 else 4 end
     where relnamespace = 'dibs'::regnamespace and relname in ('jobs', 'jobs_fair_arrival')`,
    [DEAD],
  );
  await enqueue('A');
  const pieces = rangesOf([{ rank: 0, from: -1, to: Number.MAX_SAFE_INTEGER }]);
  const searched = { queue_id: id, limit: 1, has_keys: true, ...pieces };
  for (const name of ['floor/survey', 'floor/recall'] as const) {
    const { plan } = await prepare(client, name, 'custom');
    expect(outline(await plan(searched))).toContain('Index Scan jobs_fair_arrival');
  }
  expect(await claim(1, { wait_seconds: 20 })).toBe('A1');
});
