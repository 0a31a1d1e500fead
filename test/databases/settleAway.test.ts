import { afterAll, beforeAll, expect, test } from 'vitest';
import { reachable } from '../support/reachable.ts';
import { type Service, startService } from '../support/service.ts';
import { until } from '../support/until.ts';

// biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every kind.
type Json = any;

const NAMES = ['home', 'a', 'b'] as const;
type Name = (typeof NAMES)[number];
const databases = {} as Record<Name, Awaited<ReturnType<typeof reachable>>>;
let service: Service;

beforeAll(async () => {
  for (const name of NAMES) databases[name] = await reachable();
  const { home, a, b } = databases;
  service = await startService({ databaseUrl: home.url, others: { a: a.url, b: b.url } });
  for (const database of NAMES)
    expect((await service.call('PUT', `/queues/in-${database}`, { database })).status).toBe(200);
});
afterAll(async () => {
  await service.stop();
  for (const database of Object.values(databases)) await database.drop();
});

const settle = (body: object) => service.call('POST', '/jobs/settle', body);
const item = ({ id, lease_token }: Json) => ({ id, lease_token });

/** A leased job in the queue of each of these databases, in this order. */
async function leasedIn(...names: Name[]): Promise<Json[]> {
  const jobs: Json[] = [];
  for (const name of names) {
    const queue = `in-${name}`;
    expect((await service.call('POST', '/jobs', { queue })).status).toBe(201);
    jobs.push((await service.call('POST', '/jobs/claim', { queues: [queue] })).body.jobs[0]);
  }
  return jobs;
}

/** Runs this while these databases are away, and waits until they are back. */
async function without(names: Name[], run: () => Promise<void>) {
  for (const name of names) await databases[name].leave();
  try {
    await run();
  } finally {
    for (const name of names) await databases[name].comeBack();
    for (const name of names)
      await until(async () => (await service.call('POST', '/jobs', { queue: `in-${name}` })).status === 201);
    for (const name of NAMES)
      await until(
        async () => (await service.call('POST', '/jobs/claim', { queues: [`in-${name}`] })).status === 200,
      );
  }
}

const AWAY = { status: 503, problem: { code: 'unavailable', outcome: expect.any(String) } };

test('an outage of a database refuses its own items of a settlement only', async () => {
  const leases = await leasedIn('home', 'b', 'a');
  const [nacked, released, extended] = await Promise.all([leasedIn('b'), leasedIn('a'), leasedIn('b')]);
  await without(['b'], async () => {
    const { status, body } = await settle({
      acks: leases.map(item),
      nacks: nacked.map((job) => ({ ...item(job), retry: false })),
      releases: released.map(item),
      extends: extended.map((job) => ({ ...item(job), lease_seconds: 60 })),
    });
    expect(status).toBe(200);
    expect(body).toMatchObject({
      acks: [{ status: 200 }, { id: leases[1].id, ...AWAY }, { status: 200 }],
      nacks: [AWAY],
      releases: [{ status: 200, state: 'ready' }],
      extends: [AWAY],
    });
    // It is known to be away now, so nothing is sent there.
    const repeated = await settle({ acks: [leases[1], ...released].map(item) });
    expect(repeated.body.acks).toMatchObject([
      { status: 503, problem: { outcome: 'not_done' } },
      { status: 409 },
    ]);
  });
  // The lease goes on: the same item counts now.
  expect((await settle({ acks: [item(leases[1])] })).body.acks).toMatchObject([{ status: 200 }]);
});

test('the claim of a settlement is done, whichever of the items are of a database that is away', async () => {
  const [lost] = await leasedIn('b');
  const [done] = await leasedIn('a');
  const { body: next } = await service.call('POST', '/jobs', { queue: 'in-home' });
  const { body: last } = await service.call('POST', '/jobs', { queue: 'in-home' });
  await without(['b'], async () => {
    const claim = { queues: ['in-home'] };
    const both = await settle({ acks: [lost, done].map(item), claim });
    expect(both).toMatchObject({
      status: 200,
      body: { acks: [AWAY, { status: 200 }], jobs: [{ id: next.id }] },
    });
    const one = await settle({ acks: [item(lost)], claim });
    expect(one).toMatchObject({ status: 200, body: { acks: [AWAY], jobs: [{ id: last.id }] } });
  });
});

test('a settlement whose databases are all away is refused as a whole, with its claim', async () => {
  const leases = await leasedIn('a', 'b');
  await without(['a', 'b'], async () => {
    const acks = leases.map(item);
    for (const body of [{ acks }, { acks, claim: { queues: ['in-b'] } }])
      expect(await settle(body)).toMatchObject({ status: 503, body: { code: 'unavailable' } });
    expect((await settle({ acks })).body.outcome).toBe('not_done');
  });
  expect((await settle({ acks: leases.map(item) })).body.acks).toMatchObject([
    { status: 200 },
    { status: 200 },
  ]);
});
