import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { cutWhile } from '../support/cuts.ts';
import { createDatabase, openClient } from '../support/database.ts';
import { http, type Replica, startReplica } from '../support/replica.ts';
import { databaseOf, onAll } from '../support/severalDatabases.ts';
import { until } from '../support/until.ts';

let database: Awaited<ReturnType<typeof createDatabase>>;
let survivor: Replica;
const replicas: Replica[] = [];
beforeAll(async () => {
  database = await createDatabase();
  survivor = await start();
});
afterAll(async () => {
  await Promise.all(replicas.splice(0).map((replica) => replica.end('SIGKILL')));
  await database.drop();
});

async function start(): Promise<Replica> {
  const replica = await startReplica({ DATABASE_URL: database.url });
  replicas.push(replica);
  return replica;
}

/** Enqueues with a key. Undefined when the connection breaks because the replica dies. */
async function send(
  { url }: Replica,
  queue: string,
  key: string,
): Promise<{ status: number; text: string } | undefined> {
  const batch = key.startsWith('batch');
  const body = batch ? { jobs: [{ queue, payload: key }, { queue: `${queue}.2` }] } : { queue, payload: key };
  const headers = { 'idempotency-key': key };
  return http(url, 'POST', batch ? '/jobs/batch' : '/jobs', body, { headers }).catch(() => undefined);
}

/** Repeats a request until it is answered 201. Before that, it may be answered 503, or not at all. */
const sendUntilDone = async (replica: Replica, queue: string, key: string): Promise<string> =>
  until(async () => {
    const answer = await send(replica, queue, key);
    if (answer?.status === 201) return answer.text;
    expect([undefined, 503]).toContain(answer?.status);
    return undefined;
  });

/** The payloads of all jobs in a queue, sorted. */
const payloads = async (queue: string) =>
  (
    await onAll<{ payload: string }>(
      database.url,
      `select j.payload #>> '{}' as payload from dibs.jobs j join dibs.queues q on q.id = j.queue_id
       where q.name = $1 order by 1`,
      [queue],
    )
  ).map((row) => row.payload);

test('kill -9 of a replica in the middle of a request, and a repeat on another replica, give exactly one job', async () => {
  const queue = 'middle';
  await sendUntilDone(survivor, queue, 'other');
  const killed = await start();
  const holder = await openClient(await databaseOf(database.url, queue));
  try {
    await holder.query('begin; lock table dibs.jobs in share row exclusive mode');
    const broken = send(killed, queue, 'key');
    await until(async () => {
      const { rows } = await holder.query('select from pg_locks where not granted');
      return rows.length > 0;
    });
    await killed.end('SIGKILL');
    expect(await broken).toBeUndefined();
    const repeated = sendUntilDone(survivor, queue, 'key');
    await holder.query('rollback');
    const answer = await repeated;
    expect(await sendUntilDone(survivor, queue, 'key')).toBe(answer);
  } finally {
    await holder.end();
  }
  expect(await payloads(queue)).toEqual(['key', 'other']);
});

const RUNS = 5;

test('kill -9 at any moment: a request that is repeated on another replica enqueues once, and its answer stays', async () => {
  const queue = 'moments';
  const keys: string[] = [];
  let next = start();
  for (let run = 0; run < RUNS; run++) {
    const doomed = await next;
    if (run < RUNS - 1) next = start();
    await send(doomed, queue, `warm-${run}`);
    keys.push(`warm-${run}`);
    const own = Array.from({ length: 60 }, (_, i) => `${i % 3 ? 'job' : 'batch'}-${run}-${i}`);
    keys.push(...own);
    const answers = own.map((key) => send(doomed, queue, key));
    const [kill] = [sleep(Math.random() * 60).then(() => doomed.end('SIGKILL'))];
    // Some are repeated at once, while the database may still run the first request. All are repeated later.
    const early = Promise.all(own.slice(0, 20).map((key) => sendUntilDone(survivor, queue, key)));
    await kill;
    const answered = await Promise.all(answers);
    await early;
    const repeated = await Promise.all(own.map((key) => sendUntilDone(survivor, queue, key)));
    for (const [i, answer] of answered.entries())
      if (answer?.status === 201) expect(repeated[i]).toBe(answer.text);
  }
  expect(await payloads(queue)).toEqual(keys.toSorted());
});

test('while connections to the database are cut, a request that is repeated until it is answered enqueues once', async () => {
  const queue = 'cuts';
  const keys = Array.from({ length: 150 }, (_, i) => `${i % 3 ? 'job' : 'batch'}-${i}`);
  const left = [...keys];
  const clients = Promise.all(
    Array.from({ length: 12 }, async () => {
      for (let key = left.shift(); key !== undefined; key = left.shift()) {
        const answer = await sendUntilDone(survivor, queue, key);
        expect(await sendUntilDone(survivor, queue, key)).toBe(answer);
      }
    }),
  );
  await cutWhile(database.url, clients);
  expect(await payloads(queue)).toEqual(keys.toSorted());
});
