import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ClaimRequest } from '../../src/claim/claim.ts';
import type { LeasedJob } from '../../src/verbs/claims.ts';
import { createDatabase, onServer } from '../support/database.ts';
import { openRelay } from '../support/postgres.ts';
import { until } from '../support/until.ts';
import { openReplica, type Placed, type SeveralReplica } from './support/several.ts';

const DATABASES = 3;

let databases: Awaited<ReturnType<typeof createDatabase>>[];
let placed: Placed;
let replicas: SeveralReplica[];
let first: SeveralReplica;
beforeAll(async () => {
  databases = await Promise.all(Array.from({ length: DATABASES }, createDatabase));
  placed = new Map();
  const urls = databases.map(({ url }) => url);
  replicas = [await openReplica(urls, placed), await openReplica(urls, placed)];
  first = replicas[0] as SeveralReplica;
});
afterAll(async () => {
  for (const replica of replicas) await replica.stop();
  await Promise.all(databases.map((database) => database.drop()));
});

const random = (most: number) => Math.random() * most;
const oneOf = <T>(values: T[]) => values[Math.floor(random(values.length))] as T;
const idsOf = (jobs: LeasedJob[]) => jobs.map(({ id }) => id);
const tokensOf = (jobs: LeasedJob[]) => jobs.map((job) => job.lease_token).sort();

let names = 0;
/** New queues, one in each of these databases. */
function queuesIn(...numbers: number[]): string[] {
  return numbers.map((number) => {
    const name = `q${names++}`;
    placed.set(name, number);
    return name;
  });
}

/** What is true of the jobs of these queues, over all databases. */
async function jobsIn<Row extends object>(columns: string, queues: string[]): Promise<Row[]> {
  const rows = await Promise.all(
    databases.map(({ url }) =>
      onServer<Row>(
        url,
        `select ${columns} from dibs.jobs j join dibs.queues q on q.id = j.queue_id where q.name = any ($1)`,
        [queues],
      ),
    ),
  );
  return rows.flat();
}
const leasedIn = async (queues: string[]) =>
  (await jobsIn<{ lease_token: string }>(`j.lease_token`, queues))
    .flatMap(({ lease_token }) => lease_token ?? [])
    .sort();
const runningIn = async (queues: string[]) =>
  (await jobsIn<{ lease_token: string; state: string }>('j.lease_token, j.state', queues))
    .filter(({ state }) => state === 'leased')
    .map(({ lease_token }) => lease_token)
    .sort();
/** How many leases were ever given, also those that were given back. */
const deliveriesIn = async (queues: string[]) =>
  (await jobsIn<{ deliveries: number }>('j.deliveries', queues)).reduce(
    (sum, { deliveries }) => sum + deliveries,
    0,
  );

const isWaiting = (replica: SeveralReplica, claims: number) =>
  until(async () => {
    if (replica.claims.open() !== claims) return false;
    // They have looked at all of their queues by then.
    await sleep(150);
    return replica.claims.open() === claims;
  });

test('earlier names come first, whichever databases they are in, and no job is leased beyond the limit', async () => {
  const [a, b, c] = queuesIn(2, 0, 1) as [string, string, string];
  for (const queue of [a, b, c]) await first.enqueue(queue, 3);
  const jobs = await first.claim({ queues: [b, a, c], limit: 5, lease_seconds: 300 }).jobs;
  expect(jobs.map(({ queue, headers }) => queue + JSON.parse(headers).number)).toEqual([
    `${b}0`,
    `${b}1`,
    `${b}2`,
    `${a}0`,
    `${a}1`,
  ]);
  expect(await runningIn([a, b, c])).toEqual(tokensOf(jobs));
  expect(await deliveriesIn([a, b, c])).toBe(5);
});

test.each([0, 1, 2])('a claim that waits in all databases is woken from number %i', async (number) => {
  const queues = queuesIn(0, 1, 2);
  for (const queue of queues) await first.opened[placed.get(queue) as number]?.base.queues.open(queue);
  const { jobs } = first.claim({ queues, wait_seconds: 30 });
  await isWaiting(first, 1);
  const [job] = await (replicas[1] as SeveralReplica).enqueue(queues[number] as string);
  expect(idsOf(await jobs)).toEqual([job?.id]);
});

test('a claim that waits for a queue that nobody has made gets its job, in whichever database it comes to be', async () => {
  const [known] = queuesIn(0) as [string];
  const name = `later${names++}`;
  const { jobs } = first.claim({ queues: [known, name], wait_seconds: 30 });
  await isWaiting(first, 1);
  placed.set(name, 2);
  const [job] = await (replicas[1] as SeveralReplica).enqueue(name);
  expect(idsOf(await jobs)).toEqual([job?.id]);
});

test('a claim finds the job of a queue of which this replica has never heard', async () => {
  const [queue] = queuesIn(1) as [string];
  await (replicas[1] as SeveralReplica).enqueue(queue);
  expect(await first.claim({ queues: [queue] }).jobs).toHaveLength(1);
});

test('a claim finds the jobs of a queue that is elsewhere by now', async () => {
  const [queue] = queuesIn(1) as [string];
  await first.enqueue(queue);
  expect(await first.claim({ queues: [queue] }).jobs).toHaveLength(1);
  const { jobs } = first.claim({ queues: [queue], wait_seconds: 30 });
  await isWaiting(first, 1);
  // It was deleted, and made again elsewhere.
  await onServer(databases[1]?.url as string, `delete from dibs.jobs`);
  await onServer(databases[1]?.url as string, `delete from dibs.queues where name = $1`, [queue]);
  placed.set(queue, 2);
  const [job] = await (replicas[1] as SeveralReplica).enqueue(queue);
  expect(idsOf(await jobs)).toEqual([job?.id]);
});

test('claims of several databases that wait for the same queue are served in the order in which they came', async () => {
  const [a, b, c] = queuesIn(0, 1, 2) as [string, string, string];
  for (const queue of [a, b, c]) await first.opened[placed.get(queue) as number]?.base.queues.open(queue);
  const lists = [[a, b], [b], [c, b], [b, a, c], [b]];
  async function served(): Promise<string[]> {
    const claims = lists.map((queues) => first.claim({ queues, wait_seconds: 30 }));
    await isWaiting(first, lists.length);
    const enqueued = (await first.enqueue(b, lists.length)).map(({ id }) => id);
    const jobs = (await Promise.all(claims.map((claim) => claim.jobs))).flat();
    return idsOf(jobs).map((id) => String(enqueued.indexOf(id)));
  }
  // Once a second a claim looks at its queues. While it looks at another one, later claims go first.
  let order = '';
  for (let i = 0; i < 5 && order !== '0,1,2,3,4'; i++) order = (await served()).join();
  expect(order).toBe('0,1,2,3,4');
});

test('many claims and jobs over several databases: each job goes to one claim, and no lease is given back', async () => {
  const queues = queuesIn(0, 1, 2, 0, 1, 2);
  const claim = () => {
    const some = queues.toSorted(() => random(2) - 1).slice(0, 1 + Math.floor(random(4)));
    const limit = 1 + Math.floor(random(4));
    const { jobs } = oneOf(replicas).claim({
      queues: some,
      limit,
      wait_seconds: random(0.3),
      lease_seconds: 300,
    });
    return jobs.then((leased) => {
      expect(leased.length).toBeLessThanOrEqual(limit);
      const places = leased.map(({ queue }) => some.indexOf(queue));
      expect(places).toEqual(places.toSorted((x, y) => x - y));
      return leased;
    });
  };
  const answers: Promise<LeasedJob[]>[] = [];
  for (let round = 0; round < 60; round++) {
    for (let i = 0; i < 5; i++) answers.push(claim());
    await oneOf(replicas).enqueue(oneOf(queues), 1 + Math.floor(random(6)));
  }
  const jobs = (await Promise.all(answers)).flat();
  expect(jobs.length).toBeGreaterThan(50);
  expect(new Set(idsOf(jobs)).size).toBe(jobs.length);
  expect(await leasedIn(queues)).toEqual(tokensOf(jobs));
  expect(await deliveriesIn(queues)).toBe(jobs.length);
});

test('what claims leased whose consumers hung up goes back, in each database', async () => {
  const queues = queuesIn(0, 1, 2);
  const kept: LeasedJob[] = [];
  const claims = Array.from({ length: 120 }, async (_, i) => {
    await sleep(random(300));
    const list = queues.toSorted(() => random(2) - 1);
    const request = { queues: list, limit: 4, wait_seconds: 1, lease_seconds: 300 };
    const { jobs, hangUp } = oneOf(replicas).claim(request);
    if (i % 2 === 0) {
      await sleep(random(30));
      hangUp();
      await jobs;
    } else kept.push(...(await jobs));
  });
  for (let i = 0; i < 40; i++) {
    await oneOf(replicas).enqueue(oneOf(queues), 3);
    await sleep(random(15));
  }
  await Promise.all(claims);
  await until(async () => (await runningIn(queues)).join() === tokensOf(kept).join(), {
    what: 'the end of the leases that nobody has',
  });
  expect(kept.length).toBeGreaterThan(0);
});

test('an ack of a job of each database settles where it is', async () => {
  const queues = queuesIn(0, 1, 2);
  for (const queue of queues) await first.enqueue(queue);
  const jobs = await first.claim({ queues, limit: 3 }).jobs;
  expect(jobs).toHaveLength(3);
  await Promise.all(jobs.map(first.ack));
  expect(await jobsIn('j.id', queues)).toEqual([]);
});

/** A replica whose last database is behind a relay: it can go away and come back. */
async function withRelay() {
  const urls = databases.map(({ url }) => new URL(url));
  const last = urls.at(-1) as URL;
  const target = Number(last.port || 5432);
  let relay = await openRelay(0, () => target);
  const { port } = relay.address() as AddressInfo;
  last.port = `${port}`;
  const replica = await openReplica(
    urls.map(({ href }) => href),
    placed,
  );
  return {
    replica,
    goAway: () => relay.cut(),
    async comeBack() {
      relay = await openRelay(port, () => target);
    },
    async stop() {
      await replica.stop();
      await relay.cut().catch(() => undefined);
    },
  };
}

test('while one database is away, claims that name its queues are served by the others, and it comes back by itself', async () => {
  const { replica, goAway, comeBack, stop } = await withRelay();
  const [here, there, quiet, gone] = queuesIn(0, 1, 0, 2) as [string, string, string, string];
  for (const queue of [here, there, quiet, gone]) {
    await first.enqueue(queue);
    await replica.claim({ queues: [queue], lease_seconds: 300 }).jobs;
  }
  const waits = (queues: string[], more: Partial<ClaimRequest> = {}) =>
    replica.claim({ queues, wait_seconds: 60, lease_seconds: 300, ...more }).jobs;
  const mixed = waits([gone, here]);
  const named = waits([gone, there], { claim_id: 'named' });
  const back = waits([gone, quiet]);
  const alone = waits([gone]).catch((error) => error);
  await isWaiting(replica, 4);
  await goAway();
  expect(await alone).toMatchObject({ code: 'unavailable' });
  const [job] = await first.enqueue(here);
  expect(idsOf(await mixed)).toEqual([job?.id]);
  const [other] = await first.enqueue(there);
  expect(idsOf(await named)).toEqual([other?.id]);

  // Claims that come now pass over it at once.
  await first.enqueue(here, 20);
  for (let i = 0; i < 20; i++) {
    const claim_id = i % 2 ? `while away ${i}` : undefined;
    const request = { queues: [gone, here], ...(claim_id ? { claim_id } : {}) };
    expect(await replica.claim(request).jobs).toHaveLength(1);
  }
  expect(await replica.claim({ queues: [gone, there] }).jobs).toEqual([]);
  await expect(replica.claim({ queues: [gone] }).jobs).rejects.toMatchObject({ code: 'unavailable' });

  await comeBack();
  const [late] = await first.enqueue(gone);
  expect(idsOf(await back)).toEqual([late?.id]);
  await stop();
}, 60_000);
