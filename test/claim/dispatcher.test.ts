import { setImmediate as nextLoop } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { type JoinRoundTrip, ORDER_IN_TRIP, type RoundTrip } from '../../src/batching/roundTrip.ts';
import { createRoundTrips } from '../../src/batching/roundTrips.ts';
import type { Claim } from '../../src/claim/claim.ts';
import { type ClaimDatabase, inOne } from '../../src/claim/claimPlaces.ts';
import { createDispatcher } from '../../src/claim/dispatcher.ts';
import { createPaces } from '../../src/claim/paces.ts';
import { unavailable } from '../../src/errors.ts';
import { createLedger } from '../../src/ledger.ts';
import { prepared } from '../../src/postgres/statements.ts';
import type { Queue } from '../../src/queues/cache.ts';
import type { LeasedJob } from '../../src/verbs/claims.ts';
import { until } from '../support/until.ts';

const job = (id: string) => ({ id, payload: 'null' }) as LeasedJob;

/** A cache in which every queue exists. */
const allExist = {
  byName: async (name: string) => ({ id: 1, name }),
  refresh: async (names: string[]) => new Set(names),
} as never;

const CONNECTIONS = 10;

/** No round trip of another verb is ever under way. */
const joinRoundTrip: JoinRoundTrip = (_, work, pace) => {
  const join = () => work({ number: undefined } as never);
  return pace ? pace(join) : join();
};

/** A dispatcher for one database. */
function newDispatcher(database: Partial<ClaimDatabase>) {
  const place = inOne<ClaimDatabase>({
    queues: allExist,
    leaseJobs: async (_, claims) => ({ jobs: claims.map(() => []), cut: false }),
    ownWithoutLeasing: async () => undefined,
    joinRoundTrip,
    paces: createPaces(CONNECTIONS),
    giveBack: () => undefined,
    notifier: { waiting: () => undefined },
    isAwake: () => true,
    isAway: () => false,
    ...database,
  });
  const dispatcher = createDispatcher({ ledger: createLedger(), places: place });
  return {
    ...dispatcher,
    goAlong: (...[queue, jobs, trip]: [Queue, number, RoundTrip]) =>
      dispatcher.goAlong(place.all()[0], queue, jobs, trip),
  };
}

/** A dispatcher whose statements return when the test says so. */
function setUp(join = joinRoundTrip) {
  const statements: {
    queue: string;
    claims: Claim[];
    answer(jobs: LeasedJob[][], cut?: boolean): void;
  }[] = [];
  const waiters: ((statement: (typeof statements)[number]) => void)[] = [];
  const givenBack: LeasedJob[] = [];
  const dispatcher = newDispatcher({
    leaseJobs: (queue, claims) =>
      new Promise((answer) => {
        const statement = {
          queue: queue.name,
          claims,
          answer: (jobs: LeasedJob[][], cut = false) => answer({ jobs, cut }),
        };
        const waiter = waiters.shift();
        if (waiter) waiter(statement);
        else statements.push(statement);
      }),
    joinRoundTrip: join,
    giveBack: (jobs) => givenBack.push(...jobs),
  });
  return {
    dispatcher,
    givenBack,
    /** The statements that are under way. */
    underWay: () => statements.length,
    /** Answers statements with no jobs, until there are no more. */
    async answerNothing() {
      for (let i = 0; i < 5; i++) {
        await new Promise((resolve) => setImmediate(resolve));
        const next = statements.shift();
        if (!next) continue;
        next.answer(next.claims.map(() => []));
        i = 0;
      }
    },
    statement: async () =>
      statements.shift() ?? new Promise<(typeof statements)[number]>((resolve) => waiters.push(resolve)),
  };
}

/** Two claims that wait for two empty queues. */
async function twoWaitingClaims(limit: number) {
  const service = setUp();
  const { dispatcher, statement, answerNothing } = service;
  const first = dispatcher.claim({ queues: ['a', 'b'], limit, wait_seconds: 60 });
  const visits = [await statement()];
  const second = dispatcher.claim({ queues: ['a', 'b'], limit, wait_seconds: 0.05 });
  for (const one of visits) one.answer(one.claims.map(() => []));
  await answerNothing();
  return { ...service, first: first.jobs, second: second.jobs, hangUp: second.abandon };
}

const expired = () => new Promise((resolve) => setTimeout(resolve, 100));

test('a claim that got its jobs from one queue gets no more from another queue', async () => {
  const { dispatcher, statement, first, second, givenBack } = await twoWaitingClaims(2);
  dispatcher.wake('a');
  const atA = await statement();
  dispatcher.wake('b');
  // The first claim gets nothing and goes on to look at b. The second one has its answer.
  atA.answer([[], [job('from a')]]);
  expect(await second).toEqual([job('from a')]);
  const atB = await statement();
  expect(atB.queue).toBe('b');
  atB.answer(atB.claims.map((_, i) => [job(`from b ${i}`)]));
  expect(await first).toEqual([job('from b 0')]);
  expect(atB.claims).toHaveLength(1);
  expect(givenBack).toEqual([]);
  dispatcher.close();
});

test('a claim that comes behind others that wait asks the database nothing, and is served in its turn', async () => {
  const { dispatcher, statement, answerNothing, underWay } = setUp();
  const first = dispatcher.claim({ queues: ['a'], wait_seconds: 60 });
  await answerNothing();
  const behind = dispatcher.claim({ queues: ['a'], wait_seconds: 60 });
  await answerNothing();
  expect(behind.hasLooked()).toBe(true);
  dispatcher.wake('a');
  const look = await statement();
  expect(look.claims).toHaveLength(2);
  look.answer([[job('1')], [job('2')]]);
  expect(await Promise.all([first.jobs, behind.jobs])).toEqual([[job('1')], [job('2')]]);
  expect(underWay()).toBe(0);
  dispatcher.close();
});

test.each([
  ['does not wait', { wait_seconds: 0 }, ['a']],
  ['has a session', { session: 's', wait_seconds: 60 }, ['a']],
  ['waits for another queue too', { wait_seconds: 60 }, ['a', 'b']],
])('behind others that wait, a claim that %s looks all the same', async (_, more, queues) => {
  const { dispatcher, statement, answerNothing } = setUp();
  dispatcher.claim({ queues: ['a'], wait_seconds: 60 });
  await answerNothing();
  const behind = dispatcher.claim({ queues, ...more });
  const look = await statement();
  expect(look.claims.at(-1)?.queues).toEqual(queues);
  look.answer(look.claims.map(() => []));
  await answerNothing();
  expect(behind.hasLooked()).toBe(true);
  dispatcher.close();
});

test('a claim whose wait runs out while its statement runs is in no other statement', async () => {
  const { dispatcher, statement, second } = await twoWaitingClaims(1);
  dispatcher.wake('a');
  const atA = await statement();
  dispatcher.wake('b');
  await expired();
  atA.answer([[], []]);
  expect(await second).toEqual([]);
  expect((await statement()).claims).toHaveLength(1);
  dispatcher.close();
});

test('a claim whose consumer hangs up while its statement runs gives back what it got', async () => {
  const { dispatcher, statement, hangUp, givenBack } = await twoWaitingClaims(1);
  dispatcher.wake('a');
  const atA = await statement();
  dispatcher.wake('b');
  hangUp();
  atA.answer([[], [job('from a')]]);
  expect((await statement()).claims).toHaveLength(1);
  expect(givenBack).toEqual([job('from a')]);
  dispatcher.close();
});

test('a closed dispatcher is idle only after the jobs of a claim whose consumer hung up are given back', async () => {
  const { dispatcher, statement, givenBack } = setUp();
  const { abandon } = dispatcher.claim({ wait_seconds: 60 });
  const { answer } = await statement();
  abandon();
  dispatcher.close();
  let isIdle = false;
  const idle = dispatcher.idle().then(() => {
    isIdle = true;
  });
  await new Promise((resolve) => setImmediate(resolve));
  expect(isIdle).toBe(false);
  answer([[job('late')]]);
  await idle;
  expect(givenBack).toEqual([job('late')]);
});

test('a claim whose wait runs out before its first statement still looks once', async () => {
  const { dispatcher, statement } = setUp();
  dispatcher.claim({ wait_seconds: 60 });
  const before = await statement();
  const late = dispatcher.claim({ wait_seconds: 0.05 });
  await expired();
  before.answer([[job('first')]]);
  (await statement()).answer([[job('second')]]);
  expect(await late.jobs).toEqual([job('second')]);
  dispatcher.close();
});

test('more claims than a replica can hold are refused as overloaded until others are answered', async () => {
  const { dispatcher } = setUp();
  const claim = () => dispatcher.claim({ queues: ['a'], wait_seconds: 60 });
  const last = Array.from({ length: 20_000 }, claim).at(-1);
  expect(claim).toThrow(expect.objectContaining({ code: 'overloaded' }));
  last?.abandon();
  await last?.jobs;
  claim();
  dispatcher.close();
});

test('a caller that has as many open claims as it can leaves places for others, who leave some for the next', async () => {
  const { dispatcher } = setUp();
  const claim = (by: string) => dispatcher.claim({ queues: ['a'], wait_seconds: 60, by });
  const fill = (by: string) => {
    for (let claims = 0; ; claims++)
      try {
        claim(by);
      } catch (error) {
        expect(error).toMatchObject({ code: 'overloaded' });
        return claims;
      }
  };
  expect(fill('greedy')).toBe(15_000);
  expect(fill('another')).toBe(3_750);
  claim('a third');
  dispatcher.close();
});

test('claims that wait for 1,000 queues look at them over the whole second, and only at a few at once', async () => {
  const queues = Array.from({ length: 1000 }, (_, i) => `queue ${i}`);
  let visits = 0;
  let running = 0;
  let most = 0;
  const looks: { queue: string; at: number }[] = [];
  const dispatcher = newDispatcher({
    async leaseJobs({ name }, claims) {
      if (++visits > queues.length) looks.push({ queue: name, at: performance.now() });
      running++;
      most = Math.max(most, visits > queues.length ? running : 0);
      await new Promise((resolve) => setImmediate(resolve));
      running--;
      return { jobs: claims.map(() => []), cut: false };
    },
  });
  for (const queue of queues) dispatcher.claim({ queues: [queue], wait_seconds: 60 });
  await until(() => visits >= queues.length && running <= 3);
  looks.splice(0);
  most = 0;
  await until(() => new Set(looks.map(({ queue }) => queue)).size === queues.length);
  expect(most).toBeLessThanOrEqual(3);
  const first = looks[0]?.at as number;
  const early = looks.filter(({ at }) => at < first + 250);
  expect(early.length).toBeLessThan(queues.length / 2);
  // Nobody woke them for this either: a look at every queue at once goes through the same few places.
  dispatcher.wakeAll();
  const before = looks.length;
  await until(() => looks.length >= before + queues.length);
  expect(most).toBeLessThanOrEqual(3);
  dispatcher.close();
  await dispatcher.idle();
});

test('an outage that one look meets fails the claims of every queue', async () => {
  let away = false;
  const dispatcher = newDispatcher({
    async leaseJobs(_, claims) {
      if (!away) return { jobs: claims.map(() => []), cut: false };
      await new Promise((resolve) => setTimeout(resolve, 1500));
      throw unavailable();
    },
  });
  const claims = Array.from({ length: 500 }, (_, i) =>
    dispatcher.claim({ queues: [`queue ${i}`], wait_seconds: 60 }),
  );
  const answers = Promise.allSettled(claims.map(({ jobs }) => jobs));
  await new Promise((resolve) => setTimeout(resolve, 100));
  away = true;
  const started = performance.now();
  for (const answer of await answers)
    expect(answer).toMatchObject({ status: 'rejected', reason: { code: 'unavailable' } });
  // All of them look within a second. 1.5 s later the first look fails, and those that stand behind it.
  expect(performance.now() - started).toBeLessThan(5000);
  dispatcher.close();
});

/** A dispatcher whose queues do not exist. `refresh` stands for the look-up of all queues of a moment. */
const withoutQueues = (refresh: () => Promise<Set<string>>) =>
  newDispatcher({
    leaseJobs: async () => ({ jobs: [], cut: false }),
    queues: { byName: async () => undefined, refresh } as never,
  });

test('a look-up of queues that fails once fails no claim beside many others, and an outage fails them all', async () => {
  let away = false;
  let asked = 0;
  const dispatcher = withoutQueues(async () => {
    const fails = ++asked === 1 || away;
    await new Promise((resolve) => setTimeout(resolve, 100));
    if (fails) throw unavailable();
    return new Set();
  });
  let answered = 0;
  const claims = Array.from({ length: 500 }, (_, i) =>
    dispatcher.claim({ queues: [`unknown ${i}`], wait_seconds: 60 }).jobs.finally(() => answered++),
  );
  const answers = Promise.allSettled(claims);
  await until(() => asked >= 60);
  expect(answered).toBe(0);
  away = true;
  for (const answer of await answers)
    expect(answer).toMatchObject({ status: 'rejected', reason: { code: 'unavailable' } });
  dispatcher.close();
});

test('an outage fails a claim of an unknown queue that waits alone with its first look-up', async () => {
  let asked = 0;
  const dispatcher = withoutQueues(async () => {
    asked++;
    await new Promise((resolve) => setTimeout(resolve, 2500));
    throw unavailable();
  });
  const { jobs } = dispatcher.claim({ queues: ['unknown'], wait_seconds: 60 });
  await expect(jobs).rejects.toMatchObject({ code: 'unavailable' });
  expect(asked).toBe(1);
  dispatcher.close();
});

test('of claims that go on to their next queues, few look at once, and other claims beside them look at once', async () => {
  const { dispatcher, statement, underWay, answerNothing } = setUp();
  const claims = Array.from({ length: 50 }, (_, i) =>
    dispatcher.claim({ queues: [`${i}-first`, `${i}-second`, `${i}-third`], wait_seconds: 60 }),
  );
  const next: Awaited<ReturnType<typeof statement>>[] = [];
  for (let first = 0; first < 50; ) {
    const one = await statement();
    if (!one.queue.endsWith('first')) next.push(one);
    else if (++first) one.answer(one.claims.map(() => []));
  }
  await until(() => next.length + underWay() === 3);
  const other = dispatcher.claim({ queues: ['other'], wait_seconds: 60 });
  await until(() => next.length + underWay() === 4);
  for (const { claims, answer } of next) answer(claims.map(() => []));
  await answerNothing();
  for (const claim of [...claims, other]) expect(claim.hasLooked()).toBe(true);
  dispatcher.close();
  expect((await Promise.all(claims.map(({ jobs }) => jobs))).flat()).toEqual([]);
});

test('hundreds of claims that come at once leave connections to other verbs, and all of them look', async () => {
  const { dispatcher, statement, underWay, answerNothing } = setUp();
  const claims = Array.from({ length: 300 }, (_, i) =>
    dispatcher.claim({ queues: [`${i}`], wait_seconds: 60 }),
  );
  await until(() => underWay() > 0);
  for (let i = 0; i < 100; i++) {
    expect(underWay()).toBeLessThan(CONNECTIONS - 2);
    const { claims, answer } = await statement();
    answer(claims.map(() => []));
  }
  await answerNothing();
  for (const claim of claims) expect(claim.hasLooked()).toBe(true);
  dispatcher.close();
  expect((await Promise.all(claims.map(({ jobs }) => jobs))).flat()).toEqual([]);
});

/** A dispatcher with real round trips. Its statements find nothing, and are over at the end of `rest`. */
function onEmptyQueue(rest: Promise<void>) {
  const statement = prepared('claim/plain');
  const lookUps = { count: 0 };
  const db = {
    query: async () => [],
    async pipeline(calls: unknown[]) {
      await nextLoop();
      return calls.map(() => []);
    },
  };
  const dispatcher = newDispatcher({
    async leaseJobs(_, claims, trip) {
      await trip.db.query(statement, {} as never);
      await rest;
      return { jobs: claims.map(() => []), cut: false };
    },
    queues: {
      ...(allExist as object),
      async byName(name: string) {
        if (++lookUps.count > 100) throw new Error('It looks for its queue again and again.');
        return { id: 1, name };
      },
    } as never,
    joinRoundTrip: createRoundTrips(db as never)(ORDER_IN_TRIP.claim),
  });
  return { dispatcher, lookUps };
}

const passes = async (count: number) => {
  for (let pass = 0; pass < count; pass++) await nextLoop();
};

test('claims behind one that surveys its queue leave the process to others, and look when it is over', async () => {
  let endSurvey = () => {};
  const survey = new Promise<void>((resolve) => {
    endSurvey = resolve;
  });
  const { dispatcher, lookUps } = onEmptyQueue(survey);
  const first = dispatcher.claim({ queues: ['a'] });
  await passes(10);
  const second = dispatcher.claim({ queues: ['a'] });
  await passes(10);
  expect(lookUps.count).toBeLessThan(10);
  endSurvey();
  expect(await Promise.all([first.jobs, second.jobs])).toEqual([[], []]);
  dispatcher.close();
});

test('claims that come while another one finds its queue empty leave the process to others, and look after it', async () => {
  const { dispatcher, lookUps } = onEmptyQueue(Promise.resolve());
  const claims = [dispatcher.claim({ queues: ['a'] })];
  for (let more = 0; more < 4; more++) {
    await passes(1);
    claims.push(dispatcher.claim({ queues: ['a'] }));
  }
  expect(await Promise.all(claims.map(({ jobs }) => jobs))).toEqual(claims.map(() => []));
  expect(lookUps.count).toBeLessThan(20);
  dispatcher.close();
});

test.each([
  ['stay in it', 'look in the round trip that inserts jobs', 2],
  ['leave it', 'look when the jobs are committed, and not in vain before', 1],
])('claims whose statements %s, %s', async (does, _, looksBefore) => {
  let looks = 0;
  const dispatcher = newDispatcher({
    async leaseJobs(_, claims, trip) {
      looks++;
      if (does === 'leave it') trip.leave();
      return { jobs: claims.map(() => []), cut: false };
    },
    joinRoundTrip: createRoundTrips({} as never)(ORDER_IN_TRIP.claim),
  });
  const { jobs } = dispatcher.claim({ queues: ['a'], wait_seconds: 60 });
  await passes(10);
  expect(looks).toBe(1);
  dispatcher.expect('a');
  await passes(10);
  expect(looks).toBe(looksBefore);
  dispatcher.wake('a');
  await passes(10);
  expect(looks).toBe(looksBefore + 1);
  dispatcher.close();
  expect(await jobs).toEqual([]);
});

test('a claim that left the round trip of others may not have seen its jobs, and one that stayed has', async () => {
  const { dispatcher, statement } = setUp((_, work) => work({ number: 1 } as never));
  const claim = dispatcher.claim({ queues: ['a'], limit: 1, wait_seconds: 60 });
  (await statement()).answer([[]]);
  await nextLoop();
  const beside: { number: number | undefined } = { number: 2 };
  const goAlong = (jobs: number) =>
    dispatcher.goAlong({ id: 1, name: 'a' } as never, jobs, { number: 2, beside: () => beside } as never);
  const areSeen = goAlong(1);
  expect(areSeen()).toBe(true);
  expect((await statement()).claims).toHaveLength(1);
  beside.number = undefined;
  expect(areSeen()).toBe(false);
  // It is in a statement: it goes in no other.
  expect(goAlong(1)()).toBe(false);
  claim.abandon();
  dispatcher.close();
});

test('one claim for two jobs of a round trip of others leaves one of them to be told of', async () => {
  const { dispatcher, statement } = setUp((_, work) => work({ number: 1 } as never));
  const claim = dispatcher.claim({ queues: ['a'], limit: 1, wait_seconds: 60 });
  (await statement()).answer([[]]);
  await nextLoop();
  const trip = { number: 2, beside: () => ({ number: 2 }) };
  const areSeen = dispatcher.goAlong({ id: 1, name: 'a' } as never, 2, trip as never);
  expect(areSeen()).toBe(false);
  const along = await statement();
  along.answer([[job('1')]]);
  expect(await claim.jobs).toEqual([job('1')]);
  dispatcher.close();
});
