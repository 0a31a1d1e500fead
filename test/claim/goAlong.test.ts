import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { Call } from '../../src/postgres/pipeline.ts';
import { openClient } from '../support/database.ts';
import { eventually, moves } from '../support/moves.ts';
import { type Service, startService } from '../support/service.ts';
import { databaseOf } from '../support/severalDatabases.ts';
import { isPlainClaim } from '../support/statements.ts';
import { until } from '../support/until.ts';

let service: Service;
let at: ReturnType<typeof moves>;
let queue: string;
/** The names of the statements of each round trip. */
const trips: (string | undefined)[][] = [];
beforeAll(async () => {
  service = await startService();
  at = moves(service);
  for (const db of service.pools) {
    const { pipeline } = db;
    db.pipeline = (calls: Call[], sent, turn) => {
      trips.push(calls.map(({ statement }) => statement.name));
      return pipeline(calls, sent, turn);
    };
  }
});
beforeEach(async () => {
  queue = at.newQueue();
  await at.configure(queue, {});
});
afterAll(() => service.stop());

let keys = 0;
const enqueue = (payload: unknown, key = `along-${++keys}`) =>
  service.call('POST', '/jobs', { queue, payload }, { 'idempotency-key': key });

/** A claim that has looked, and waits. */
async function waiting(wish: object = {}) {
  trips.length = 0;
  const jobs = at.claim(queue, { wait_seconds: 20, ...wish });
  await eventually(async () => expect(trips.flat().some(isPlainClaim)).toBe(true));
  await new Promise((resolve) => setTimeout(resolve, 50));
  trips.length = 0;
  return { jobs };
}

/** How many round trips have enqueued and leased. */
const together = () =>
  trips.filter((names) => names.some(isPlainClaim) && names.includes('enqueue/idempotency_keep_new')).length;

test.each(['without', 'with'])(
  'a claim that waits, %s a claim_id, goes in the round trip that enqueues with a key, and nobody looks again for that job',
  async (kind) => {
    // On a machine that stood still, a claim goes alone: it looks at the clock of the database first.
    await until(async () => {
      const { jobs } = await waiting(kind === 'with' ? { claim_id: `claim ${++keys}` } : {});
      const looks = () => trips.flat().filter(isPlainClaim).length;
      expect((await enqueue(1)).status).toBe(201);
      const [job] = await jobs;
      expect(job).toMatchObject({ payload: 1 });
      await at.ok('POST', `/jobs/${job.id}/ack`, { lease_token: job.lease_token });
      return together() === 1 && looks() === 1;
    });
  },
);

test('of claims that wait, the first go along, as many as there are jobs', async () => {
  const order: number[] = [];
  const claims = [];
  for (let i = 0; i < 4; i++) {
    const jobs = at.claim(queue, { wait_seconds: 20 }).then(() => order.push(i));
    claims.push(jobs);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  await enqueue('a');
  await enqueue('b');
  await eventually(async () => expect(order).toEqual([0, 1]));
  await Promise.all([enqueue('c'), enqueue('d')]);
  await Promise.all(claims);
  expect(order.slice(2).sort()).toEqual([2, 3]);
});

test('a key that another transaction holds keeps a claim that waits from other jobs for a moment, and later ones do not', async () => {
  const holder = await openClient(await databaseOf(service.databaseUrl, queue));
  try {
    await holder.query('begin');
    await holder.query(
      `insert into dibs.idempotency_keys (route, key, fingerprint, expires_at)
       values ('POST /jobs', 'held', sha256(''), now() + interval '1 day')`,
    );
    const first = await waiting();
    const held = [enqueue('held', 'held')];
    await at.enqueue({ queue, payload: 'plain' });
    expect(await first.jobs).toMatchObject([{ payload: 'plain' }]);
    const next = await waiting();
    held.push(enqueue('other', 'held'));
    await enqueue('keyed');
    expect(await next.jobs).toMatchObject([{ payload: 'keyed' }]);
    expect(together()).toBe(0);
    await holder.query('rollback');
    for (const { status } of await Promise.all(held)) expect([201, 409, 422, 503]).toContain(status);
  } finally {
    await holder.end();
  }
});
