import type pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createScanFloor } from '../../src/floor/scanFloor.ts';
import type { Piece } from '../../src/floor/scanRanges.ts';
import { openClient } from '../support/database.ts';
import { type Service, startService } from '../support/service.ts';

let service: Service;
let other: Service;
beforeAll(async () => {
  service = await startService();
  other = await startService({ databaseUrl: service.databaseUrl });
});
afterAll(async () => {
  await other.stop();
  await service.stop();
});

/** A scan floor with a clock of its own, in a database that has given out this number of positions. */
function scanFloorAt(committedUpTo: number) {
  const clock = { ms: 0 };
  const floor = createScanFloor(() => clock.ms);
  return { clock, floor, ranges: () => floor.ranges(committedUpTo) };
}

const jobsAt = (priority: number, ...positions: number[]) =>
  positions.map((position) => ({ priority, position }));

test('in a small order, a claim scans everything above the scan floors', () => {
  const { clock, floor, ranges } = scanFloorAt(10_000);
  floor.leased(jobsAt(0, 700), clock.ms);
  expect(ranges().cut).toBeUndefined();
  expect(ranges().ranges).toMatchObject({ ranks: [-100, 0], positions: [-1, -1], last_ranks: [-1, 100] });
});

test('a scan floor rises behind leased jobs, when a later claim found none before them', () => {
  const { clock, floor, ranges } = scanFloorAt(10_000);
  const scanFloor = () => ranges().ranges.positions.at(-1);
  floor.leased(jobsAt(0, 700), clock.ms);
  clock.ms = 100;
  floor.leased(jobsAt(0, 750), clock.ms);
  expect(scanFloor()).toBe(-1);
  // Another job commits a bit late. The claim that finds it goes no further.
  clock.ms = 400;
  floor.leased(jobsAt(0, 650), clock.ms);
  expect(scanFloor()).toBe(650);
  clock.ms = 500;
  floor.leased(jobsAt(0, 800), clock.ms);
  clock.ms = 800;
  floor.leased(jobsAt(0, 900), clock.ms);
  expect(scanFloor()).toBe(800);
});

test('a scan floor rises to the first job that a claim saw, but not above what may commit late', () => {
  const { floor, ranges } = scanFloorAt(10_000);
  const scanFloor = () => ranges().ranges.positions.at(-1);
  floor.sawFirst(0, 700, 10_000, 6000);
  expect(scanFloor()).toBe(699);
  floor.sawFirst(0, 650, 10_000, 6000);
  expect(scanFloor()).toBe(699);
  floor.sawFirst(0, 10_500, 10_000, 1);
  expect(scanFloor()).toBe(10_000);
  expect(floor.takeUnstored()).toEqual([{ rank: 0, position: 10_000 }]);
});

test('a claim scans a bounded number of positions, and fewer after it failed', () => {
  const { floor, ranges } = scanFloorAt(20_000_000);
  const width = () => {
    const { ranges: found, cut } = ranges();
    expect(cut).toBeDefined();
    expect(found.last_positions.every((last) => last < 10_000_000)).toBe(true);
    return found.last_positions.reduce((sum, last, i) => sum + last - (found.positions[i] as number), 0);
  };
  expect(width()).toBe(32_768);
  floor.failed();
  expect(width()).toBe(4096);
});

test('surveys come to the end of an order without jobs in a few steps', () => {
  const committedUpTo = 5_000_000_000;
  const { floor, ranges } = scanFloorAt(committedUpTo);
  let surveys = 0;
  for (; ranges().cut; surveys++) {
    const pieces = floor.piecesToSurvey(committedUpTo, new Set());
    floor.surveyed(
      pieces,
      pieces.map(() => undefined),
      pieces.map(() => 0.01),
    );
  }
  expect(surveys).toBeLessThan(15);
});

/** Surveys all that is behind once, without finding a job. Rank 0 takes this long for each position. */
function survey(
  floor: ReturnType<typeof createScanFloor>,
  committedUpTo: number,
  msOfPosition: number,
): Piece[] {
  const pieces = floor.piecesToSurvey(committedUpTo, new Set());
  floor.surveyed(
    pieces,
    pieces.map(() => undefined),
    pieces.map(({ rank, from, to }) => (rank === 0 ? (to - from) * msOfPosition : 0.01)),
  );
  return pieces;
}

test('surveys of dead entries take about as long each, and each goes on where the last one ended', () => {
  const committedUpTo = 20_000_000;
  for (const msOfPosition of [0.0003, 0.003]) {
    const { floor } = scanFloorAt(committedUpTo);
    let at = -1;
    let surveys = 0;
    for (let pieces = survey(floor, committedUpTo, msOfPosition); pieces.length > 0; surveys++) {
      const dead = pieces.find(({ rank }) => rank === 0);
      if (dead) {
        expect(dead.from).toBe(at);
        at = dead.to;
        expect((dead.to - dead.from) * msOfPosition).toBeLessThan(100);
      }
      pieces = survey(floor, committedUpTo, msOfPosition);
    }
    expect(committedUpTo - at).toBeLessThanOrEqual(32_768);
    expect(surveys).toBeLessThan((committedUpTo * msOfPosition) / 15 + 20);
  }
});

test('a priority with many dead entries gets a scan floor of its own, which is stored after its first surveys', () => {
  const committedUpTo = 20_000_000;
  const { floor } = scanFloorAt(committedUpTo);
  // The first of these surveys take 20 ms for rank 0 together. No job was found.
  while (!floor.piecesToSurvey(committedUpTo, new Set()).every(({ rank }) => rank === 0))
    survey(floor, committedUpTo, 0.0004);
  expect(floor.takeUnstored()).toEqual([{ rank: 0, position: expect.any(Number) }]);
  expect(floor.takeUnstored()).toEqual([]);
  const [piece] = survey(floor, committedUpTo, 0.0004);
  expect(floor.takeUnstored()).toEqual([{ rank: 0, position: piece?.to }]);
});

test('while surveys run, a claim scans little of what they go over', () => {
  const { floor, ranges } = scanFloorAt(20_000_000);
  floor.beginSurveys();
  expect(ranges().cut).toEqual({ rank: -100, from: -1, to: 1023 });
  floor.endSurveys();
  expect(ranges().cut).toEqual({ rank: -100, from: -1, to: 32_767 });
});

test('jobs that others keep locked do not hide those far behind them', () => {
  const { clock, floor, ranges } = scanFloorAt(200_000);
  const cut = ranges().cut as Piece;
  expect(floor.passLocked(cut, 100)).toBe(false);
  clock.ms = 300;
  expect(floor.passLocked(cut, 100)).toBe(true);
});

/** Claims and acks jobs until the scan floor of that queue is well above them. */
async function raiseScanFloor(of: Service, queue: string, priority = 0): Promise<void> {
  for (let i = 0; i < 8; i++) {
    await of.call('POST', '/jobs/batch', { jobs: Array.from({ length: 20 }, () => ({ queue, priority })) });
    const { body } = await of.call('POST', '/jobs/claim', { queues: [queue], limit: 20 });
    await of.call('POST', '/jobs/settle', {
      acks: body.jobs.map(({ id, lease_token }: Lease) => ({ id, lease_token })),
    });
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

interface Lease {
  id: string;
  lease_token: string;
}

/** Inserts a job as an enqueue does, in a transaction that the test ends. */
async function openInsert(queue: string): Promise<{ id: string; client: pg.Client }> {
  const client = await openClient(service.databaseUrl);
  await client.query('begin');
  const { rows } = await client.query<{ id: string }>(
    `insert into dibs.jobs (queue_id, id, state, run_at, priority, max_attempts, payload_bytes, headers, payload)
     select id, gen_random_uuid(), 'ready', now(), 0, 5, 4, '{}', 'null' from dibs.queues where name = $1
     returning id`,
    [queue],
  );
  return { id: (rows[0] as { id: string }).id, client };
}

test('a job that commits late, below the scan floor and without a mark, is claimed all the same', async () => {
  await service.call('PUT', '/queues/late', {});
  const { id, client } = await openInsert('late');
  await raiseScanFloor(service, 'late');
  await client.query('commit');
  await client.end();
  const { body } = await service.call('POST', '/jobs/claim', { queues: ['late'], wait_seconds: 20 });
  expect(body.jobs).toMatchObject([{ id }]);
});

test('a job that another claim locked and rolled back is claimed all the same', async () => {
  await service.call('PUT', '/queues/locked', {});
  const { body: job } = await service.call('POST', '/jobs', { queue: 'locked' });
  const client = await openClient(service.databaseUrl);
  await client.query('begin');
  await client.query('select from dibs.jobs where id = $1 for update', [job.id]);
  await raiseScanFloor(service, 'locked');
  await client.query('rollback');
  await client.end();
  const { body } = await service.call('POST', '/jobs/claim', { queues: ['locked'], wait_seconds: 20 });
  expect(body.jobs).toMatchObject([{ id: job.id }]);
});

test('jobs from one replica are claimed in order on another replica whose scan floor is high', async () => {
  await raiseScanFloor(service, 'two');
  await raiseScanFloor(other, 'two');
  const { body: batch } = await other.call('POST', '/jobs/batch', {
    jobs: Array.from({ length: 5 }, () => ({ queue: 'two' })),
  });
  const { body } = await service.call('POST', '/jobs/claim', { queues: ['two'], limit: 5 });
  expect(body.jobs.map((job: Lease) => job.id)).toEqual(batch.jobs.map((job: Lease) => job.id));
});

test('the scan floor of one priority hides no job of another priority, not even of a new one', async () => {
  await raiseScanFloor(service, 'mixed', 5);
  await raiseScanFloor(service, 'mixed', -5);
  const priorities = [-100, 100, 0, 5, -5, 6, 4, -6, -4];
  await other.call('POST', '/jobs/batch', {
    jobs: priorities.map((priority) => ({ queue: 'mixed', priority })),
  });
  const { body } = await service.call('POST', '/jobs/claim', { queues: ['mixed'], limit: 100 });
  expect(body.jobs.map((job: { priority: number }) => job.priority)).toEqual(
    priorities.toSorted((a, b) => b - a),
  );
});

test('a rescued, a released and a nacked job come back above the scan floor', async () => {
  await service.call('POST', '/jobs/batch', {
    jobs: Array.from({ length: 3 }, () => ({ queue: 'back', priority: 1 })),
  });
  const { body } = await service.call('POST', '/jobs/claim', {
    queues: ['back'],
    limit: 3,
    lease_seconds: 600,
  });
  const [rescued, released, nacked] = body.jobs as [Lease, Lease, Lease];
  await raiseScanFloor(service, 'back', 1);
  await service.call('POST', `/jobs/${rescued.id}/extend`, {
    lease_token: rescued.lease_token,
    lease_seconds: 1,
  });
  await service.call('POST', `/jobs/${released.id}/release`, { lease_token: released.lease_token });
  await service.call('POST', `/jobs/${nacked.id}/nack`, {
    lease_token: nacked.lease_token,
    delay_seconds: 0,
  });
  const ids = new Set<string>();
  while (ids.size < 3) {
    const { body: claimed } = await service.call('POST', '/jobs/claim', {
      queues: ['back'],
      limit: 3,
      wait_seconds: 20,
    });
    expect(claimed.jobs).not.toEqual([]);
    for (const job of claimed.jobs) ids.add(job.id);
  }
  expect(ids).toEqual(new Set([rescued.id, released.id, nacked.id]));
});
