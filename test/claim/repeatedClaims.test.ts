import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { markOf } from '../../src/claim/claimRows.ts';
import { startEngine } from '../../src/engine.ts';
import { unavailable } from '../../src/errors.ts';
import { type Database, openDatabase } from '../../src/postgres/pool.ts';
import type { LeasedJob } from '../../src/verbs/claims.ts';
import { openClient } from '../support/database.ts';
import { claimToHangUp } from '../support/hangup.ts';
import { eventually, expectProblem, moves } from '../support/moves.ts';
import { recordingEngine } from '../support/recordingEngine.ts';
import { type Service, startService } from '../support/service.ts';
import { AT_HOME, databaseOf, onAll, openOthers, othersOf } from '../support/severalDatabases.ts';
import { isPlainClaim } from '../support/statements.ts';
import { until } from '../support/until.ts';

/** After this time the other replicas know of a waiting claim. */
const KNOWN_MS = 300;

let service: Service;
let other: Service;
let at: ReturnType<typeof moves>;
beforeAll(async () => {
  service = await startService();
  other = await startService({ databaseUrl: service.databaseUrl });
  at = moves(service);
});
afterAll(async () => {
  await other.stop();
  await service.stop();
});

let names = 0;
const newClaim = (more: object = {}) => ({ claim_id: `claim ${++names}`, ...more });

describe('while a lease of a claim runs', () => {
  test('a repeat is answered the same leases, in the order of the queue', async () => {
    const queue = at.newQueue();
    await at.enqueueAll([0, 5, -3, 5].map((priority, i) => ({ queue, priority, payload: { i } })));
    const wish = newClaim({ limit: 3, worker: 'w', lease_seconds: 60 });
    const first = await at.claim(queue, wish);
    expect(first.map((job) => job.payload.i)).toEqual([1, 3, 0]);
    expect(await at.claim(queue, wish)).toEqual(first);
    expect(await moves(other).claim(queue, wish)).toEqual(first);
    expect(await at.drain(queue)).toEqual([{ i: 2 }]);
  });

  test('a repeat is answered the payloads exactly as they were sent', async () => {
    const queue = at.newQueue();
    const payload = '{"b":1.0,"a":1e400,"a":"\\u0000"}';
    await at.ok('POST', '/jobs', `{"queue":"${queue}","payload":${payload}}`);
    const wish = { queues: [queue], ...newClaim() };
    for (let i = 0; i < 2; i++)
      expect((await service.call('POST', '/jobs/claim', wish)).text).toContain(`"payload":${payload}`);
  });

  test('a settled lease is not answered again, and a repeat without any lease left is a new claim', async () => {
    const queue = at.newQueue();
    await at.enqueueAll([1, 2, 3].map((payload) => ({ queue, payload })));
    const wish = newClaim({ limit: 2 });
    const [one, two] = await at.claim(queue, wish);
    await at.settle('ack', one);
    expect(await at.claim(queue, wish)).toEqual([two]);
    await at.settle('nack', two, { delay_seconds: 3600 });
    expect(await at.claim(queue, wish)).toMatchObject([{ payload: 3, attempt: 1 }]);
  });

  test('the leases of several queues come in the order of the queues', async () => {
    const queues = [at.newQueue(), at.newQueue(), 'nowhere'];
    await at.enqueueAll([
      { queue: queues[1], priority: 9 },
      { queue: queues[0] },
      { queue: queues[0], priority: 1 },
    ]);
    const wish = newClaim({ limit: 5 });
    const first = await at.claim(queues, wish);
    expect(first.map((job) => job.queue)).toEqual([queues[0], queues[0], queues[1]]);
    expect(await at.claim(queues, wish)).toEqual(first);
  });

  test('another claim_id, or the same one at another queue, is another claim', async () => {
    const [queue, elsewhere] = [at.newQueue(), at.newQueue()];
    await at.enqueueAll([{ queue }, { queue }, { queue: elsewhere }]);
    const wish = newClaim();
    const tokens = [
      ...(await at.claim(queue, wish)),
      ...(await at.claim(queue, newClaim())),
      ...(await at.claim(elsewhere, wish)),
    ].map((job) => job.lease_token);
    expect(new Set(tokens).size).toBe(3);
  });

  test('a repeat is answered the length that each lease was given for, whatever it asks for', async () => {
    const [short, long] = [at.newQueue(), at.newQueue()];
    await at.configure(short, { lease_seconds: 40 });
    await at.configure(long, { lease_seconds: 700.5 });
    await at.enqueueAll([{ queue: short }, { queue: long }]);
    const wish = newClaim({ limit: 2 });
    const first = await at.claim([short, long], wish);
    expect(first.map((job) => job.lease_seconds)).toEqual([40, 700.5]);
    for (const lease_seconds of [10, 43_200])
      for (const replica of [service, other])
        expect(await moves(replica).claim([short, long], { ...wish, lease_seconds })).toEqual(first);
    for (const seconds of [600, 50, 900]) {
      const { body } = await at.settle('extend', first[0], { lease_seconds: seconds });
      const extended = { ...first[0], lease_expires_at: body.lease_expires_at };
      expect(await at.claim([short, long], wish)).toEqual([extended, first[1]]);
    }
  });

  test('a repeat is not answered the length of an earlier lease of the job', async () => {
    const queue = at.newQueue();
    await at.enqueue({ queue });
    const earlier = await at.claimOne(queue, { lease_seconds: 60 });
    await at.settle('extend', earlier, { lease_seconds: 600 });
    await at.settle('release', earlier);
    const wish = newClaim({ lease_seconds: 300 });
    expect(await at.claimOne(queue, wish)).toMatchObject({ lease_seconds: 300 });
    expect(await at.claimOne(queue, { ...wish, lease_seconds: 20 })).toMatchObject({ lease_seconds: 300 });
  });

  test('a repeat is answered the new end of an extended lease', async () => {
    const queue = at.newQueue();
    await at.enqueue({ queue });
    const wish = newClaim({ lease_seconds: 60 });
    const job = await at.claimOne(queue, wish);
    const { body } = await at.settle('extend', job, { lease_seconds: 600 });
    expect(await at.claim(queue, wish)).toEqual([{ ...job, lease_expires_at: body.lease_expires_at }]);
  });
});

test('a repeat is not answered a lease that ran out: the job comes with a new lease', async () => {
  const queue = at.newQueue();
  await at.enqueue({ queue });
  const wish = newClaim({ lease_seconds: 0.2 });
  const first = await at.claimOne(queue, wish);
  await sleep(250);
  const again = await at.claimOne(queue, { ...wish, wait_seconds: 20 });
  expect(again).toMatchObject({ id: first.id, deliveries: 2 });
  expect(again.lease_token).not.toBe(first.lease_token);
});

test('a repeat is not answered a lease of another claim on a job that it once had', async () => {
  const queue = at.newQueue();
  await at.enqueue({ queue });
  const wish = newClaim();
  await at.settle('release', await at.claimOne(queue, wish));
  await at.claimOne(queue);
  expect(await at.claim(queue, wish)).toEqual([]);
});

test('claim_id has 1 to 256 characters, and no NUL', async () => {
  for (const claim_id of ['', 'x'.repeat(257), 'a\u0000', 1, null])
    expectProblem(
      await service.call('POST', '/jobs/claim', { claim_id }),
      400,
      'invalid_request',
      '/claim_id',
    );
  expect(await at.claim(at.newQueue(), { claim_id: 'x'.repeat(256) })).toEqual([]);
});

describe('a repeat replaces a request that still waits', () => {
  const wish = (queue: string, more: object = {}) => ({
    queues: [queue],
    wait_seconds: 20,
    ...newClaim(),
    ...more,
  });
  const claim = (replica: Service, body: object) => moves(replica).ok('POST', '/jobs/claim', body);

  test.each(['this replica', 'another replica'])(
    'on %s, and the older request is answered empty',
    async (where) => {
      const queue = at.newQueue();
      await at.enqueue({ queue, delay_seconds: 3600 });
      const body = wish(queue);
      const first = claim(service, body);
      await sleep(KNOWN_MS);
      const again = claim(where === 'this replica' ? service : other, body);
      expect((await first).jobs).toEqual([]);
      const { id } = await at.enqueue({ queue });
      expect((await again).jobs).toMatchObject([{ id, attempt: 1, deliveries: 1 }]);
    },
  );

  test('each newer one replaces the one before it, and the last gets the job', async () => {
    const queue = at.newQueue();
    const body = wish(queue);
    const claims = [];
    for (const replica of [service, service, other, service, service, other]) {
      claims.push(claim(replica, body));
      await sleep(KNOWN_MS / 2);
    }
    const { id } = await at.enqueue({ queue });
    const answers = (await Promise.all(claims)).map(({ jobs }) => jobs);
    expect(answers.slice(0, -1).flat()).toEqual([]);
    expect(answers.at(-1)).toMatchObject([{ id, deliveries: 1 }]);
  });

  test('when many come at the same time, the last gets the job, and no other one gets another', async () => {
    const queue = at.newQueue();
    const body = wish(queue);
    const claims = Array.from({ length: 10 }, () => claim(service, body));
    const { id } = await at.enqueue({ queue });
    const answers = await Promise.all(claims);
    expect(answers.at(-1).jobs).toMatchObject([{ id, deliveries: 1 }]);
    for (const { jobs } of answers) if (jobs.length > 0) expect(jobs).toEqual(answers.at(-1).jobs);
  });

  test('whose replica is gone by now', async () => {
    const queue = at.newQueue();
    const leaving = await startService({ databaseUrl: service.databaseUrl });
    const body = wish(queue);
    const first = leaving.engine.claim(body);
    await sleep(KNOWN_MS);
    await leaving.stop();
    await first;
    const again = claim(service, body);
    const { id } = await at.enqueue({ queue });
    expect((await again).jobs).toMatchObject([{ id, deliveries: 1 }]);
  });
});

/** An engine. The test holds back what the database answers to its claims, or loses it. */
async function slowEngine() {
  let go: () => void = () => undefined;
  let held: Promise<void> | undefined;
  let losing = false;
  const ran: string[] = [];
  const slowly = async <T>(names: (string | undefined)[], work: () => Promise<T>): Promise<T> => {
    const result = await work();
    ran.push(...names.filter((name) => name !== undefined));
    if (!names.some(isPlainClaim)) return result;
    await held;
    if (losing) throw unavailable();
    return result;
  };
  const slow = (db: Database): Database => ({
    ...db,
    query: (statement, parameters, turn) =>
      slowly([statement.name], () => db.query(statement, parameters, turn)),
    pipeline: (calls, sent, turn) =>
      slowly(
        calls.map((call) => call.statement.name),
        () => db.pipeline(calls, sent, turn),
      ),
  });
  const db = slow(openDatabase(service.databaseUrl, 5));
  const { others, close } = await openOthers(db, await othersOf(service.databaseUrl), slow);
  const engine = await startEngine({ listenUrl: service.databaseUrl, log: () => undefined, db, others });
  return {
    engine,
    ran,
    lose: (losses: boolean) => {
      losing = losses;
    },
    hold() {
      held = new Promise((resolve) => {
        go = resolve;
      });
      return () => go();
    },
    async stop() {
      await engine.stop();
      await db.close();
      await close();
    },
  };
}

describe('a claim that is in its statement', () => {
  let slow: Awaited<ReturnType<typeof slowEngine>>;
  beforeAll(async () => {
    slow = await slowEngine();
  });
  afterAll(() => slow.stop());

  /** A claim whose statement has leased the one job of its queue, but has not returned. */
  async function busy() {
    const queue = at.newQueue();
    const { id } = await at.enqueue({ queue });
    const go = slow.hold();
    const body = { queues: [queue], ...newClaim() };
    const first = claimToHangUp(slow.engine, body);
    await at.reaches(id, 'leased');
    await sleep(KNOWN_MS);
    return { id, body, first, go };
  }

  test.each(['this replica', 'another replica'])('leases for its repeat on %s, too', async (where) => {
    const { id, body, first, go } = await busy();
    const again = (where === 'this replica' ? slow.engine : service.engine).claim(body);
    await sleep(50);
    go();
    const [job] = await first.jobs;
    expect(job).toMatchObject({ id, deliveries: 1 });
    expect(await again).toMatchObject([{ id, deliveries: 1, lease_token: job?.lease_token }]);
  });

  test('gives no lease back that a repeat answers for, though its consumer hung up', async () => {
    const { id, body, first, go } = await busy();
    first.hangUp();
    const again = slow.engine.claim(body);
    await sleep(50);
    go();
    expect(await first.jobs).toEqual([]);
    const [job] = await again;
    expect(job).toMatchObject({ id, deliveries: 1 });
    await sleep(300);
    expect((await at.settle('ack', job)).status).toBe(200);
  });

  test('gives its jobs back at once and uncharged when its consumer hung up and nobody repeats it', async () => {
    const { id, body, first, go } = await busy();
    first.hangUp();
    go();
    expect(await first.jobs).toEqual([]);
    await at.reaches(id, 'ready');
    expect(await at.claim(body.queues, { claim_id: body.claim_id })).toMatchObject([
      { id, attempt: 1, deliveries: 2 },
    ]);
  });

  test('and whose answer from the database is lost leases for its repeat, which keeps the lease', async () => {
    const { id, body, first, go } = await busy();
    slow.lose(true);
    go();
    await expect(first.jobs).rejects.toMatchObject({ code: 'unavailable' });
    slow.lose(false);
    const [job] = await slow.engine.claim(body);
    // Longer than a replica takes to look for lost leases.
    await sleep(1500);
    const { lease_token } = job as { lease_token: string };
    const answer = await service.call('POST', `/jobs/${id}/ack`, { lease_token });
    expect(answer.status).toBe(200);
  });

  test('and whose answer from the database is lost leaves no job leased when nobody repeats it', async () => {
    const { id, first, go } = await busy();
    slow.lose(true);
    go();
    await expect(first.jobs).rejects.toMatchObject({ code: 'unavailable' });
    slow.lose(false);
    expect(await at.reaches(id, 'ready')).toMatchObject({ attempt: 0, deliveries: 1 });
  });

  test('and has more queues to look at leases no more once a repeat is answered: both have the same jobs', async () => {
    const queues = [at.newQueue(), at.newQueue()];
    const { id } = await at.enqueue({ queue: queues[0] });
    await at.enqueue({ queue: queues[1] });
    const go = slow.hold();
    const body = { queues, limit: 2, ...newClaim() };
    const first = slow.engine.claim(body);
    await at.reaches(id, 'leased');
    const again = await service.engine.claim(body);
    expect(again).toMatchObject([{ id }]);
    go();
    expect((await first).map((job) => job.lease_token)).toEqual([again[0]?.lease_token]);
    expect(await at.claim(queues[1] as string)).toHaveLength(1);
  });

  test('runs one statement when it has no claim_id', async () => {
    const queue = at.newQueue();
    await at.enqueue({ queue });
    slow.hold()();
    slow.ran.length = 0;
    expect(await slow.engine.claim({ queues: [queue] })).toHaveLength(1);
    expect(slow.ran.filter((name) => name.startsWith('claim/'))).toEqual(['claim/one']);
  });
});

test('a repeat whose consumer hung up gives no lease back: the consumer of the first request may be at work', async () => {
  const queue = at.newQueue();
  await at.enqueue({ queue });
  const body = { queues: [queue], ...newClaim() };
  const [job] = await service.engine.claim(body);
  for (const { engine } of [service, other]) {
    const early = claimToHangUp(engine, body);
    early.hangUp();
    const late = claimToHangUp(engine, body);
    await late.jobs;
    late.hangUp();
    await early.jobs;
  }
  await sleep(300);
  expect((await at.settle('ack', job)).status).toBe(200);
});

test('a request whose consumer hung up late gives no lease back that a repeat answers for', async () => {
  const queue = at.newQueue();
  await at.enqueue({ queue });
  const body = { queues: [queue], ...newClaim() };
  const first = claimToHangUp(service.engine, body);
  await first.jobs;
  const [job] = await other.engine.claim(body);
  first.hangUp();
  await sleep(300);
  expect((await at.settle('ack', job)).status).toBe(200);
});

test('leases go back at once and uncharged when the first request and all repeats hung up before they had the answer', async () => {
  const queue = at.newQueue();
  const { id } = await at.enqueue({ queue });
  const body = { queues: [queue], ...newClaim() };
  const requests = [];
  for (const { engine } of [service, other, other]) {
    const request = claimToHangUp(engine, body);
    expect(await request.jobs).toMatchObject([{ id, deliveries: 1 }]);
    requests.push(request);
  }
  for (const [i, { hangUp }] of requests.entries()) {
    expect((await at.get(id)).state, `${i} hung up`).toBe('leased');
    hangUp();
    await sleep(100);
  }
  expect(await at.reaches(id, 'ready')).toMatchObject({ attempt: 0, deliveries: 1 });
});

test.each([
  ['with a claim limit', { max_leased: 4 }, {}],
  ['with a rate limit', { rate_limit: { jobs: 4, per_seconds: 3600 } }, {}],
  ['with fairness keys', {}, { fairness_key: 'k' }],
])(
  'repeats that come at once on two replicas have one set of leases in a queue %s',
  async (_, config, job) => {
    const queue = at.newQueue();
    await at.configure(queue, config);
    await at.enqueueAll(Array.from({ length: 9 }, () => ({ queue, ...job })));
    const wish = newClaim({ limit: 3, wait_seconds: 5 });
    const answers = await Promise.all(
      [service, other, other, service].map((one) => moves(one).claim(queue, wish)),
    );
    for (const jobs of answers) expect(jobs).toEqual(answers[0]);
    expect(answers[0]).toHaveLength(3);
  },
);

test('a claim_id that a worker always uses is a new claim each time that it has no lease left', async () => {
  const queue = at.newQueue();
  await at.enqueueAll(Array.from({ length: 40 }, (_, payload) => ({ queue, payload })));
  const wish = newClaim({ limit: 2, wait_seconds: 5 });
  for (let i = 0; i < 20; i++) {
    const jobs = await moves(i % 3 === 0 ? other : service).claim(queue, wish);
    expect(jobs.map((job) => job.payload)).toEqual([2 * i, 2 * i + 1]);
    for (const job of jobs) expect((await at.settle('ack', job)).status).toBe(200);
  }
});

test('a claim with a claim_id is served in the round trip that enqueues its job', async () => {
  const { engine, roundTrips, stop } = await recordingEngine(service.databaseUrl);
  const queue = at.newQueue();
  await at.configure(queue, AT_HOME);
  const goAlong = async () => {
    const claims: Promise<LeasedJob[]>[] = [];
    for (const more of [newClaim(), newClaim(), {}]) {
      claims.push(engine.claim({ queues: [queue], wait_seconds: 60, ...more }));
      await sleep(KNOWN_MS);
    }
    roundTrips.splice(0);
    for (const claim of claims) {
      await engine.enqueue({ jobs: [{ queue }], at: () => '' });
      await claim;
    }
    const withEnqueue = roundTrips.filter((names) => names.includes('enqueue/insert_one'));
    return [['claim/plain', 'claim/own_leased'], ['claim/plain', 'claim/own_leased'], ['claim/one']].every(
      (claiming, i) => claiming.every((name) => withEnqueue[i]?.includes(name)),
    );
  };
  // A claim that looks for a job by itself at that moment does not go along.
  await until(goAlong);
  await stop();
});

test('a claim whose row is locked holds up no enqueue and no ack of its queue', async () => {
  const queue = at.newQueue();
  await at.enqueueAll(Array(20).fill({ queue }));
  const leased = await at.claim(queue, { limit: 20 });
  const wish = newClaim();
  const client = await openClient(await databaseOf(service.databaseUrl, queue));
  try {
    await client.query('begin');
    const lock =
      'insert into dibs.repeatable_claims (mark, holder, until) values ($1, gen_random_uuid(), now())';
    await client.query(lock, [markOf(wish.claim_id, [queue])]);
    let isServed = false;
    const claim = at.claim(queue, wish).finally(() => {
      isServed = true;
    });
    const ids: string[] = [];
    for (const job of leased) {
      ids.push((await at.enqueue({ queue })).id);
      expect((await at.settle('ack', job)).status).toBe(200);
    }
    expect(isServed).toBe(false);
    await client.query('rollback');
    expect(await claim).toMatchObject([{ id: ids[0], deliveries: 1 }]);
  } finally {
    await client.end();
  }
});

test('a repeat finds a lease that was extended beyond its first end, and not those that ran out', async () => {
  const queue = at.newQueue();
  await at.enqueueAll([{ queue }, { queue }]);
  const wish = newClaim({ limit: 2, lease_seconds: 3 });
  const [one] = await at.claim(queue, wish);
  const { body } = await at.settle('extend', one, { lease_seconds: 600 });
  await sleep(3100);
  const lease = { ...one, lease_expires_at: body.lease_expires_at };
  expect(await at.claim(queue, wish)).toEqual([lease]);
  expect(await moves(other).claim(queue, wish)).toEqual([lease]);
});

test('the leases of claims without a claim_id have none', async () => {
  const queue = at.newQueue();
  await at.enqueue({ queue });
  const wish = newClaim();
  await at.settle('release', await at.claimOne(queue, wish));
  const { id } = await at.claimOne(queue);
  await eventually(async () => {
    const [row] = await onAll(
      service.databaseUrl,
      'select claim_id, claim_holder from dibs.jobs where id = $1',
      [id],
    );
    expect(row).toEqual({ claim_id: null, claim_holder: null });
  });
});
