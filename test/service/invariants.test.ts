import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createDatabase, openClient } from '../support/database.ts';

let database: Awaited<ReturnType<typeof createDatabase>>;
let client: pg.Client;
beforeAll(async () => {
  database = await createDatabase();
  client = await openClient(database.url);
});
afterAll(async () => {
  await client.end();
  await database.drop();
});

type Row = Record<string, unknown>;
const TOKEN = '00000000-0000-4000-8000-000000000001';
const NOW = new Date('2026-01-02T03:04:05.678Z');

const READY: Row = {
  queue_id: 1,
  state: 'ready',
  run_at: NOW,
  max_attempts: 5,
  payload_bytes: 2,
  priority: 0,
  headers: '{}',
  payload: '{}',
};
const LEASED: Row = {
  ...READY,
  state: 'leased',
  lease_token: TOKEN,
  lease_expires_at: NOW,
  attempt: 1,
  deliveries: 1,
};
const HEAD: Row = { ...READY, group_key: 'a', is_head: true };
const finished = (state: string): Row => ({ ...READY, state, finished_at: NOW });

let made = 0;
/** The name of the constraint that refuses a row, or undefined when the row is accepted. */
async function refusalOf(table: string, row: Row): Promise<string | undefined> {
  const columns = Object.keys(row);
  const places = columns.map((_, i) => `$${i + 1}`);
  try {
    await client.query(
      `insert into dibs.${table} (${columns.join(', ')}) values (${places.join(', ')})`,
      Object.values(row),
    );
    return undefined;
  } catch (error) {
    return (error as pg.DatabaseError).constraint ?? String(error);
  }
}
const job = (row: Row): Row => ({
  id: `00000000-0000-7000-8000-${String(++made).padStart(12, '0')}`,
  ...row,
});

describe('the table accepts a job of every state', () => {
  const good: Record<string, Row> = {
    ready: READY,
    'ready again, with the token of the lease that ran out': {
      ...READY,
      lease_token: TOKEN,
      attempt: 1,
      deliveries: 2,
    },
    scheduled: { ...READY, state: 'scheduled' },
    'ready at the head of its group': HEAD,
    'backing off at the head of its group': { ...HEAD, group_key: 'b', state: 'scheduled' },
    'delayed, before it comes to its group': { ...READY, state: 'scheduled', group_key: 'a' },
    blocked: { ...READY, state: 'blocked', group_key: 'a' },
    'dead, and no longer head': { ...finished('dead'), group_key: 'a' },
    leased: LEASED,
    'leased, to be cancelled': { ...LEASED, cancel_requested: true },
    completed: { ...finished('completed'), lease_token: TOKEN },
    'completed, with what its ack enqueued': { ...finished('completed'), enqueued: '[]' },
    'completed though it was to be cancelled': { ...finished('completed'), cancel_requested: true },
    cancelled: { ...finished('cancelled'), cancel_requested: true },
    dead: { ...finished('dead'), attempt: 5, deliveries: 5 },
    'with the smallest and the largest numbers': {
      ...READY,
      priority: -100,
      max_attempts: 1000,
      deliveries: 2 ** 31 - 1,
    },
  };
  test.each(Object.entries(good))('%s', async (_, row) => {
    expect(await refusalOf('jobs', job(row))).toBeUndefined();
  });
});

/** Most are checked in the databases of the tests only: see docs/decisions/0043-cheap-checks.md. */
describe('the table refuses a job', () => {
  const bad: [what: string, constraint: string, row: Row][] = [
    ['leased without an end of its lease', 'job_state', { ...LEASED, lease_expires_at: null }],
    ['leased without a token', 'job_token', { ...LEASED, lease_token: null }],
    ...['ready', 'scheduled', 'blocked'].map((state): [string, string, Row] => [
      `${state} with a lease that runs`,
      'job_state',
      { ...LEASED, state, ...(state === 'blocked' ? { group_key: 'a' } : {}) },
    ]),
    ...['completed', 'cancelled', 'dead'].flatMap((state): [string, string, Row][] => [
      [`${state} with a lease that runs`, 'job_state', { ...LEASED, state, finished_at: NOW }],
      [`${state} without the time at which it finished`, 'job_state', { ...READY, state }],
    ]),
    ...['ready', 'scheduled', 'blocked'].flatMap((state): [string, string, Row][] => [
      [
        `${state}, yet finished`,
        'job_state',
        { ...READY, state, finished_at: NOW, group_key: state === 'blocked' ? 'a' : null },
      ],
      [`${state}, yet to be cancelled`, 'job_cancelling', { ...READY, state, cancel_requested: true }],
    ]),
    ['leased, yet finished', 'job_state', { ...LEASED, finished_at: NOW }],
    ['dead, yet to be cancelled', 'job_cancelling', { ...finished('dead'), cancel_requested: true }],
    ...['cancelled', 'dead'].map((state): [string, string, Row] => [
      `${state} with what an ack enqueued`,
      'job_enqueued',
      { ...finished(state), enqueued: '[]' },
    ]),
    ['with more attempts than it may have', 'job_attempts', { ...READY, attempt: 6, deliveries: 6 }],
    ['with a negative number of attempts', 'job_attempts', { ...READY, attempt: -1 }],
    ['with more attempts than deliveries', 'job_attempts', { ...READY, attempt: 2, deliveries: 1 }],
    ['with max_attempts of 0', 'job_attempts', { ...READY, max_attempts: 0 }],
    ['with max_attempts of 1001', 'job_attempts', { ...READY, max_attempts: 1001 }],
    ['blocked, yet of no group', 'job_group', { ...READY, state: 'blocked' }],
    ['blocked, yet the head of its group', 'job_group', { ...HEAD, state: 'blocked' }],
    ['ready, yet not the head of its group', 'job_group', { ...READY, group_key: 'a' }],
    ['leased, yet not the head of its group', 'job_group', { ...LEASED, group_key: 'a' }],
    ['finished, yet the head of its group', 'job_group', { ...HEAD, ...finished('dead'), is_head: true }],
    ['a head of no group', 'job_group', { ...READY, is_head: true }],
    ['a second head of its group', 'jobs_head', { ...HEAD, group_key: 'taken' }],
    ['of a group without a name', 'job_keys', { ...HEAD, group_key: '' }],
    ['of a group with too long a name', 'job_keys', { ...HEAD, group_key: 'a'.repeat(257) }],
    ['of too high a priority', 'job_priority', { ...READY, priority: 101 }],
    ['of too low a priority', 'job_priority', { ...READY, priority: -101 }],
    ['whose id is taken', 'jobs_pkey', { ...READY, id: '00000000-0000-7000-8000-ffffffffffff' }],
  ];
  beforeAll(async () => {
    await refusalOf('jobs', job({ ...HEAD, group_key: 'taken' }));
    await refusalOf('jobs', { ...READY, id: '00000000-0000-7000-8000-ffffffffffff' });
  });
  test.each(bad)('%s', async (_, constraint, row) => {
    expect(await refusalOf('jobs', job(row))).toBe(constraint);
  });
});

describe('the table refuses a queue', () => {
  const bad: [what: string, constraint: string, row: Row][] = [
    ['without a name', 'queue_name', { name: '' }],
    ['with a space in its name', 'queue_name', { name: 'a b' }],
    ['with a line break at the end of its name', 'queue_name', { name: 'a\n' }],
    ['with a letter outside ASCII', 'queue_name', { name: 'é' }],
    ['with a name of 129 characters', 'queue_name', { name: 'a'.repeat(129) }],
    ['with too short a lease', 'queue_lease', { name: 'a', lease_seconds: 0.09 }],
    ['with a lease of NaN', 'queue_lease', { name: 'a', lease_seconds: 'NaN' }],
    ['without attempts', 'queue_attempts', { name: 'a', max_attempts: 0 }],
    ['with a negative retention', 'queue_retention', { name: 'a', retention_seconds: -1 }],
    ['with too long a retention', 'queue_retention', { name: 'a', retention_seconds: 31_622_401 }],
    [
      'with too long a retention of the dead',
      'queue_dead_retention',
      { name: 'a', dead_retention_seconds: 1e9 },
    ],
  ];
  test.each(bad)('%s', async (_, constraint, row) => {
    expect(await refusalOf('queues', row)).toBe(constraint);
  });

  test('with a name that is taken', async () => {
    expect(await refusalOf('queues', { name: 'A-z.0_:' })).toBeUndefined();
    expect(await refusalOf('queues', { name: 'A-z.0_:' })).toBe('queues_name_key');
  });
});
