import pg from 'pg';
import { expect, test } from 'vitest';
import { type RoundTrip, SEEN } from '../../src/batching/roundTrip.ts';
import { toInsert } from '../../src/enqueue/newJob.ts';
import { createOnceBatcher } from '../../src/enqueue/onceBatcher.ts';
import { createArrivals } from '../../src/floor/arrivals.ts';
import type { Database } from '../../src/postgres/pool.ts';
import type { Statement } from '../../src/postgres/statements.ts';
import type { Queue } from '../../src/queues/cache.ts';

const repeat = () =>
  Object.assign(new pg.DatabaseError('duplicate key value violates unique constraint', 0, 'error'), {
    code: '23505',
    constraint: 'idempotency_keys_pkey',
  });

const DECIDED = { id: null, state: 'ready', run_at: 'now', created_at: 'now' };

test('claims that went along are told of the jobs after all, when a repeat has undone their round trip', async () => {
  const ran: (string | undefined)[] = [];
  const told: (number | undefined)[] = [];
  let hasRepeat = false;
  const query = async ({ name }: Statement) => {
    ran.push(name);
    if (name === 'enqueue/idempotency_taken') return [];
    if (hasRepeat) {
      hasRepeat = false;
      throw repeat();
    }
    return [DECIDED];
  };
  const db = { query } as unknown as Database;
  const insert = createOnceBatcher({
    db,
    joinRoundTrip: (_, work) => work({ number: 5, db, leave: () => ({ db }) } as unknown as RoundTrip),
    arrivals: createArrivals({} as Database),
    newId: () => 'id',
    inserted: (_, trip) => told.push(trip),
    goAlong: () => () => true,
  });
  const send = () =>
    insert({
      request: { route: 'POST /jobs', key: 'key', fingerprint: '' },
      jobs: [toInsert({}, { id: 7, name: 'q', max_attempts: 5 } as Queue, null)],
      openSeconds: undefined,
    });

  await send();
  hasRepeat = true;
  await send();
  expect(ran).toEqual([
    'enqueue/insert_one',
    'enqueue/insert_one',
    'enqueue/idempotency_taken',
    'enqueue/insert_one',
  ]);
  expect(told).toEqual([SEEN, undefined]);
});
