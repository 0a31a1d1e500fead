import { afterEach, expect, test } from 'vitest';
import { createDatabase } from '../support/database.ts';
import { bearer, withKeys } from '../support/keys.ts';
import { type Service, startService } from '../support/service.ts';
import { until } from '../support/until.ts';

/** A replica that cannot listen hears no notification. */
const NOWHERE = 'postgres://127.0.0.1:1/nowhere';

const undo: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step();
});

async function twoReplicas(listens: boolean) {
  const database = await createDatabase();
  undo.push(database.drop);
  const start = async () => {
    const service = await startService({
      databaseUrl: database.url,
      ...(listens ? {} : { listenUrl: NOWHERE }),
    });
    undo.push(service.stop);
    return service;
  };
  return [await start(), await start()] as const;
}

const look = (service: Service, key: string) => service.call('GET', '/queues', undefined, bearer(key));

/** Wide, because the machine may be slow: what never looks again takes for ever. */
const PROMISED = { withinMs: 20_000, everyMs: 5 };

for (const listens of [true, false]) {
  const how = listens ? 'which hears of it' : 'which cannot listen';

  test(`a revoked key is refused on another replica, ${how}, and no request has to come for that`, async () => {
    const [here, there] = await twoReplicas(listens);
    const keys = await withKeys(here);
    const { id, key } = await keys.create({ name: 'revoked', scopes: ['read'] });
    expect(await look(there, key)).toMatchObject({ status: 200 });
    expect(there.engine.keys.known(key)).toBeDefined();
    await here.call('DELETE', `/keys/${id}`, undefined, keys.as);
    expect(here.engine.keys.known(key)).toBe(undefined);
    await until(() => there.engine.keys.known(key) === undefined, PROMISED);
    expect(await look(there, key)).toMatchObject({ status: 401 });
  });

  test(`the first key closes another replica, ${how}`, async () => {
    const [here, there] = await twoReplicas(listens);
    expect(await there.call('GET', '/queues')).toMatchObject({ status: 200 });
    await withKeys(here);
    expect(await here.call('GET', '/queues')).toMatchObject({ status: 401 });
    await until(async () => (await there.call('GET', '/queues')).status === 401, PROMISED);
  });

  test(`a key from another replica, ${how}, works at once, and so does one that was rotated there`, async () => {
    const [here, there] = await twoReplicas(listens);
    const keys = await withKeys(here);
    const { id, key } = await keys.create({ name: 'fresh', scopes: ['read'] });
    expect(await look(there, key)).toMatchObject({ status: 200 });
    const { body } = await here.call('POST', `/keys/${id}/rotate`, { overlap_seconds: 60 }, keys.as);
    expect(await look(there, body.key)).toMatchObject({ status: 200 });
    expect(await look(there, key)).toMatchObject({ status: 200 });
  });
}

test('the first request with the first key is that of its caller, also where nobody needed a key a moment ago', async () => {
  const [here, there] = await twoReplicas(false);
  const { key } = await here.engine.createKey({ name: 'first', scopes: ['read'] });
  expect(await there.call('POST', '/jobs', { queue: 'q' }, bearer(key))).toMatchObject({
    status: 403,
    body: { code: 'forbidden' },
  });
});

test('a change whose commit takes long is not missed', async () => {
  const [here, there] = await twoReplicas(false);
  const keys = await withKeys(here);
  const { id, key } = await keys.create({ name: 'slow', scopes: ['read'] });
  expect(await look(there, key)).toMatchObject({ status: 200 });
  const { planned } = await import('../../src/postgres/statements.ts');
  const change = planned('access/change');
  await here.db.transaction(async (db) => {
    await db.query(change, { creates: false });
    await db.query(planned('access/revoke'), { id });
    // The other replica looks meanwhile, and must not take the version of before for the one after.
    for (let i = 0; i < 3; i++) await there.engine.keys.refresh();
    expect(there.engine.keys.known(key)).toBeDefined();
  });
  await there.engine.keys.refresh();
  expect(there.engine.keys.known(key)).toBe(undefined);
});

test('whoever waits with a key that is revoked on another replica waits no longer, and gets no job that comes later', async () => {
  const [here, there] = await twoReplicas(true);
  const keys = await withKeys(here);
  const { id, key } = await keys.create({ name: 'waits', scopes: ['consume', 'read'] });
  const job = (await here.call('POST', '/jobs', { queue: 'other' }, keys.as)).body;
  await there.listen();
  const claim = there.call('POST', '/jobs/claim', { queues: ['q'], wait_seconds: 60 }, bearer(key));
  const wait = there.call('GET', `/jobs/${job.id}?wait_seconds=60`, undefined, bearer(key));
  await until(() => there.engine.waitingForJobs() === 1);
  await here.call('DELETE', `/keys/${id}`, undefined, keys.as);
  expect(await claim).toMatchObject({ status: 200, body: { jobs: [] } });
  expect(await wait).toMatchObject({ status: 200, body: { state: 'ready' } });
  await here.call('POST', '/jobs', { queue: 'q' }, keys.as);
  expect((await here.call('GET', '/queues/q', undefined, keys.as)).body.counts).toMatchObject({
    ready: 1,
    leased: 0,
  });
}, 50_000);

test('whoever waits for its job with Prefer and an Idempotency-Key waits no longer either, and is answered with the job', async () => {
  const [here, there] = await twoReplicas(true);
  const keys = await withKeys(here);
  const { id, key } = await keys.create({ name: 'waits', scopes: ['produce'] });
  await there.listen();
  const headers = { ...bearer(key), prefer: 'wait=60', 'idempotency-key': 'once' };
  const answer = there.call('POST', '/jobs', { queue: 'q' }, headers);
  await until(() => there.engine.waitingForJobs() === 1);
  await here.call('DELETE', `/keys/${id}`, undefined, keys.as);
  expect(await answer).toMatchObject({ status: 201, body: { state: 'ready' } });
}, 50_000);

test('whoever waits with a key that expires waits no longer', async () => {
  const [here] = await twoReplicas(true);
  const keys = await withKeys(here);
  const { key } = await keys.create({ name: 'ends', scopes: ['consume'], expires_in_seconds: 2 });
  const claim = here.call('POST', '/jobs/claim', { queues: ['q'], wait_seconds: 60 }, bearer(key));
  expect(await claim).toMatchObject({ body: { jobs: [] } });
}, 50_000);
