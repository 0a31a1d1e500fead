import { afterAll, expect, test } from 'vitest';
import { startEngine } from '../../src/engine.ts';
import { overloaded, unavailable } from '../../src/errors.ts';
import { openDatabase } from '../../src/postgres/pool.ts';
import { createDatabase } from '../support/database.ts';
import { claimToHangUp } from '../support/hangup.ts';
import { startService } from '../support/service.ts';
import { isPlainClaim } from '../support/statements.ts';
import { until } from '../support/until.ts';

const stops: (() => Promise<unknown>)[] = [];
afterAll(async () => {
  for (const stop of stops.reverse()) await stop();
});

/** An engine that does not hear the database's answer to a claiming statement, if `loses` says so of it. */
async function engineThatLoses(loses: () => boolean) {
  const database = await createDatabase();
  const db = openDatabase(database.url, 5);
  const engine = await startEngine({
    listenUrl: database.url,
    log: () => undefined,
    db: {
      ...db,
      async pipeline(calls, sent, turn) {
        const rows = await db.pipeline(calls, sent, turn);
        if (calls.some(({ statement }) => isPlainClaim(statement.name)) && loses()) throw unavailable();
        return rows;
      },
    },
  });
  stops.push(database.drop, db.close, engine.stop);
  return engine;
}

test('a claim whose answer from the database is lost leaves no lost lease behind', async () => {
  let losing = true;
  const engine = await engineThatLoses(() => losing);

  const [job] = await engine.enqueue({ jobs: [{ queue: 'q' }], at: () => '' });
  const id = (job as { id: string }).id;
  await expect(engine.claim({ queues: ['q'], lease_seconds: 3600 })).rejects.toMatchObject({
    code: 'unavailable',
  });
  losing = false;
  const [again] = await engine.claim({ queues: ['q'], wait_seconds: 20 });
  expect(again).toMatchObject({ id, attempt: 1, deliveries: 2 });
});

test('a claim with a claim_id keeps the leases with which it was answered, though its statement at the next queue is lost', async () => {
  let claims = 0;
  const engine = await engineThatLoses(() => ++claims === 2);
  for (const queue of ['first', 'second']) await engine.enqueue({ jobs: [{ queue }], at: () => '' });

  const queues = ['first', 'second'];
  const leases = await engine.claim({ queues, limit: 2, lease_seconds: 3600, claim_id: 'c' });
  expect(leases.map(({ queue }) => queue)).toEqual(['first']);
  const [{ id, lease_token }] = leases as [(typeof leases)[number]];
  // The duty that gives lost leases back has run by then: it gives back that of a claim that was refused.
  claims = 1;
  await engine.enqueue({ jobs: [{ queue: 'other' }], at: () => '' });
  await expect(engine.claim({ queues: ['other'], lease_seconds: 3600 })).rejects.toMatchObject({
    code: 'unavailable',
  });
  expect(await engine.claim({ queues: ['other'], wait_seconds: 20 })).toHaveLength(1);
  await expect(engine.ack({ id, lease_token, at: () => '' })).resolves.toMatchObject({ state: 'completed' });
});

test.each([
  ['the database was away', unavailable],
  ['the replica was overloaded', overloaded],
])(
  'jobs of a consumer that hung up, which could not be given back at once, as %s, are given back when the service ends',
  async (_, refusal) => {
    const service = await startService();
    const ending = await startService({ databaseUrl: service.databaseUrl });
    const { id } = (await service.call('POST', '/jobs', { queue: 'ending' })).body;
    const { jobs, hangUp } = claimToHangUp(ending.engine, { queues: ['ending'] });
    expect((await jobs).map((job) => job.id)).toEqual([id]);
    let failed = false;
    for (const db of ending.pools) {
      const { query } = db;
      db.query = async (statement, parameters) => {
        if (failed || statement.name !== 'settle/release')
          return query.call(db, statement, parameters) as never;
        failed = true;
        throw refusal();
      };
    }
    hangUp();
    await until(() => failed);
    await ending.stop();
    expect((await service.call('GET', `/jobs/${id}`)).body).toMatchObject({ state: 'ready', attempt: 0 });
    await service.stop();
  },
);
