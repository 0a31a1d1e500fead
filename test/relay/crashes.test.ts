import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Refusal } from '../../src/errors.ts';
import { RawJson } from '../../src/job.ts';
import type { Database } from '../../src/postgres/pool.ts';
import type { Settled } from '../../src/verbs/settle.ts';
import { createDatabases, type Databases, openReplica, type Side, waitingIn } from '../support/relayed.ts';
import { until } from '../support/until.ts';

const TEN_MINUTES = 600_000;

/** What a replica does for a parcel. It can die at each of these moments, and before the first. */
const STEPS = ['decided', 'begun', 'inserted', 'arrived', 'ended'] as const;
type Step = (typeof STEPS)[number];

let databases: Databases;
/** It never dies. */
let survivor: ReturnType<typeof openReplica>;
beforeAll(async () => {
  databases = await createDatabases();
  await databases.place('here', 'home');
  survivor = openReplica(databases);
});
afterAll(async () => {
  await survivor.stop();
  await databases.drop();
});

const payload = (value: unknown) => new RawJson(JSON.stringify(value));

class Died extends Error {}

/** A replica that calls `reached` at each step, and does nothing any more once that has thrown. */
function openDoomed(reached: (step: Step) => void | Promise<void>, answerMs?: number) {
  let dead = false;
  async function at(step: Step): Promise<void> {
    if (!dead)
      try {
        await reached(step);
      } catch {
        dead = true;
      }
    if (dead) throw new Died(step);
  }
  const change = (db: Database): Database => ({
    ...db,
    async pipeline(calls, ...rest) {
      const files = calls.map(({ statement }) => statement.file);
      if (!files.includes('relay/begin')) return db.pipeline(calls, ...rest);
      if (!files.includes('relay/end')) await at('decided');
      const rows = await db.pipeline(calls, ...rest);
      await at(files.includes('relay/end') ? 'ended' : 'begun');
      return rows;
    },
    transaction: (work, turn) =>
      db.transaction(async (transaction) => {
        let arrives = false;
        const result = await work({
          query(statement, parameters) {
            if (statement.file === 'relay/arrive') arrives = true;
            return transaction.query(statement, parameters);
          },
        });
        if (arrives) await at('inserted');
        return result;
      }, turn),
  });
  const doomed = openReplica(databases, {
    answerMs,
    change,
    targets: Object.fromEntries(
      [...databases.urls.keys()].map((name) => [
        name,
        {
          async receive(parcel) {
            const arrived = await doomed.at(name).rooms.receive(parcel);
            await at('arrived');
            return arrived;
          },
        },
      ]),
    ),
  });
  return doomed;
}

/** On a busy machine, the database may seem to be away for a moment. What was not done then is done again. */
async function patiently<T>(work: () => Promise<T>): Promise<T> {
  for (;;)
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof Refusal) || error.outcome !== 'not_done') throw error;
      await sleep(50);
    }
}

/** Works on a queue until `isOver`. Returns the payloads in the order in which they came. */
async function work({ verbs }: Side, queue: string, isOver: () => boolean): Promise<unknown[]> {
  const seen: unknown[] = [];
  for (;;) {
    const wasOver = isOver();
    const jobs = await patiently(() =>
      verbs.claim({ queues: [queue], limit: 20, wait_seconds: 0, onHangup: () => undefined }),
    );
    seen.push(...jobs.map((job) => JSON.parse(job.payload)));
    const acks = jobs.map(({ id, lease_token }) => ({ id, lease_token, at: () => '' }));
    const { acks: done } = (await patiently(() => verbs.settle({ acks }))) as Settled;
    for (const one of done) if ('refusal' in one) throw one.refusal;
    if (jobs.length === 0 && wasOver) return seen;
    await sleep(2);
  }
}

/** Runs the duty of the survivor until nothing waits any more. */
const sendTheRest = (database = 'home') =>
  until(async () => {
    await patiently(() => survivor.at(database).relay.run());
    return (await waitingIn(databases, database)) === 0;
  });

for (const step of STEPS)
  test(`a replica that dies when a parcel is ${step}, while its jobs are worked on: each arrives once, in order`, async () => {
    const queue = `east.${step}`;
    await databases.place(queue, 'east');
    let isOver = false;
    const worker = work(survivor.at('east'), queue, () => isOver);
    for (let run = 0; run < 3; run++) {
      let reached = false;
      const doomed = openDoomed((now) => {
        if (now !== step) return;
        reached = true;
        throw new Died();
      }, 50);
      await doomed
        .at('home')
        .enqueue([
          { queue: 'here' },
          { queue, payload: payload(run * 2) },
          { queue, payload: payload(run * 2 + 1) },
        ]);
      await until(() => reached);
      await doomed.stop();
      // Some of them are done and gone before they are sent again.
      await sleep(run * 20);
      await sendTheRest();
    }
    isOver = true;
    expect(await worker).toEqual([0, 1, 2, 3, 4, 5]);
  });

test('a replica that was frozen with a parcel in its hands brings nothing, when others have sent it and its jobs are gone', async () => {
  const queue = 'east.frozen';
  await databases.place(queue, 'east');
  let thaw: () => void = () => undefined;
  const frozen = new Promise<void>((resolve) => {
    thaw = resolve;
  });
  let isFrozen = false;
  const doomed = openDoomed(async (step) => {
    if (step !== 'begun') return;
    isFrozen = true;
    await frozen;
  }, 50);
  await doomed.at('home').enqueue([{ queue: 'here' }, { queue, payload: payload(1) }]);
  await until(() => isFrozen);
  await sendTheRest();
  expect(await work(survivor.at('east'), queue, () => true)).toEqual([1]);
  await survivor.at('home').enqueue([{ queue: 'here' }, { queue, payload: payload(2) }]);
  expect(await work(survivor.at('east'), queue, () => true)).toEqual([2]);
  thaw();
  await doomed.at('home').enqueue([{ queue: 'here' }, { queue, payload: payload(3) }]);
  await sendTheRest();
  expect(await work(survivor.at('east'), queue, () => true)).toEqual([3]);
  await doomed.stop();
});

test('replicas that die at any moment, under load, with workers: each job arrives once, those of a producer in their order', {
  timeout: TEN_MINUTES,
}, async () => {
  const queues = ['east.x', 'east.y', 'west.x'];
  for (const queue of queues) await databases.place(queue, queue.slice(0, 4));
  let isOver = false;
  const workers = queues.map((queue) => work(survivor.at(queue.slice(0, 4)), queue, () => isOver));
  const PRODUCERS = 4;
  const JOBS = 60;
  let died = 0;
  const sent = new Map<number, number>();
  const chance = 1 / 12;
  /** Each has a replica of its own, and takes a new one when that is dead. */
  const produce = async (producer: number) => {
    let next = 0;
    while (next < JOBS) {
      let isDead = false;
      const replica = openDoomed(() => {
        if (Math.random() > chance) return;
        isDead = true;
        died++;
        throw new Died();
      }, 20);
      while (!isDead && next < JOBS) {
        const item = { producer, n: next++ };
        const jobs = [{ queue: 'here' }, ...queues.map((queue) => ({ queue, payload: payload(item) }))];
        await patiently(() => replica.at('home').enqueue(jobs));
        sent.set(producer, next);
      }
      await replica.stop();
    }
  };
  const producing = Promise.all(Array.from({ length: PRODUCERS }, (_, i) => produce(i)));
  const duty = (async () => {
    while (!isOver) {
      await patiently(() => survivor.at('home').relay.run());
      await sleep(20);
    }
  })();
  await producing;
  await sendTheRest();
  isOver = true;
  await duty;
  expect(died).toBeGreaterThan(5);
  for (const seen of await Promise.all(workers)) {
    const items = seen as { producer: number; n: number }[];
    for (let producer = 0; producer < PRODUCERS; producer++)
      expect(items.filter((item) => item.producer === producer).map(({ n }) => n)).toEqual(
        Array.from({ length: JOBS }, (_, n) => n),
      );
    expect(items).toHaveLength(PRODUCERS * JOBS);
  }
  expect(survivor.errors).toEqual([]);
});
