import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Claimed } from '../support/client.ts';
import { createDatabase, openClient } from '../support/database.ts';
import { http, type Replica, startReplica } from '../support/replica.ts';
import { served } from '../support/served.ts';
import { databaseOf, onAll } from '../support/severalDatabases.ts';
import { until } from '../support/until.ts';

/** Far longer than a round takes: leases that nobody answers for are still there in the end. */
const LEASE_SECONDS = 300;
const ROUNDS = 18;
const HANGUP_ROUNDS = 6;

let database: Awaited<ReturnType<typeof createDatabase>>;
let replicas: Replica[];
beforeAll(async () => {
  database = await createDatabase();
  replicas = await Promise.all([1, 2, 3].map(() => startReplica({ DATABASE_URL: database.url })));
});
afterAll(async () => {
  await Promise.all(replicas.map((replica) => replica.end('SIGKILL')));
  await database.drop();
});

const oneOf = <T>(values: T[]) => values[Math.floor(Math.random() * values.length)] as T;
let names = 0;

async function enqueue(queue: string, jobs: number): Promise<void> {
  const list = Array.from({ length: jobs }, () => ({ queue }));
  const { url } = oneOf(replicas);
  const headers = { 'idempotency-key': randomUUID() };
  const answer = await served(() => http(url, 'POST', '/jobs/batch', { jobs: list }, { headers }));
  expect(answer.status).toBe(201);
}

/** Undefined when the client hung up before it had the answer. */
async function claim(replica: Replica, body: object, hangUpAfterMs?: number): Promise<Claimed[] | undefined> {
  const signal = hangUpAfterMs === undefined ? undefined : AbortSignal.timeout(hangUpAfterMs);
  try {
    const answer = await http(replica.url, 'POST', '/jobs/claim', body, { signal });
    if (answer.status !== 200) throw new Error(`a claim answered ${answer.status}: ${answer.text}`);
    return answer.body.jobs;
  } catch (error) {
    if (signal?.aborted) return undefined;
    throw error;
  }
}

const tokensOf = (jobs: Claimed[]) => jobs.map((job) => job.lease_token);

const leased = async (queues: string[]): Promise<string[]> => {
  const rows = await onAll<{ lease_token: string }>(
    database.url,
    `select j.lease_token from dibs.jobs j join dibs.queues q on q.id = j.queue_id
     where q.name = any ($1) and j.state = 'leased'`,
    [queues],
  );
  return rows.map((row) => row.lease_token);
};

const bodyFor = (queues: string[], more: object = {}) => ({
  queues,
  claim_id: randomUUID(),
  limit: 5,
  lease_seconds: LEASE_SECONDS,
  ...more,
});

describe.each([1, 2, 3])('repeats that come at once on %i replicas', (count) => {
  test('are all answered the same leases', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const queues = round % 3 === 0 ? [`a.${++names}`, `b.${names}`] : [`a.${++names}`];
      const jobs = 3 + (round % 5);
      for (const [i, queue] of queues.entries()) await enqueue(queue, i === 0 ? jobs : 4);
      const body = bodyFor(queues, { wait_seconds: round % 2 });
      const some = replicas.slice(0, count);
      const answers = await Promise.all([0, 1, 2, 3].map((i) => claim(some[i % count] as Replica, body)));
      const first = tokensOf(answers[0] ?? []);
      expect(first.length, `round ${round}`).toBeGreaterThan(0);
      expect(first.length).toBeLessThanOrEqual(5);
      for (const answer of answers) expect(tokensOf(answer ?? []), `round ${round}`).toEqual(first);
      expect(tokensOf((await claim(oneOf(replicas), body)) ?? [])).toEqual(first);
      expect(new Set(await leased(queues))).toEqual(new Set(first));
    }
  }, 120_000);

  test('and whose clients have all hung up leave no job leased', async () => {
    const queue = `h.${++names}`;
    await enqueue(queue, 1);
    const locker = await openClient(await databaseOf(database.url, queue));
    try {
      for (let round = 0; round < HANGUP_ROUNDS; round++) {
        const queues = [`h.${++names}`];
        await enqueue(queues[0] as string, 5);
        const body = bodyFor(queues, { wait_seconds: round % 2 });
        // The requests are in their statements when their clients hang up.
        await locker.query('begin; lock table dibs.repeatable_claims in exclusive mode');
        const answers = [0, 1, 2, 3].map((i) => claim(replicas[i % count] as Replica, body, 30 + 20 * i));
        // A request whose place a later one took is answered empty, which a slow client may still hear.
        for (const answer of await Promise.all(answers)) expect(answer ?? []).toEqual([]);
        await locker.query('commit');
        await until(
          async () =>
            (await http(oneOf(replicas).url, 'GET', `/queues/${queues[0]}`)).body.counts.ready === 5,
          {
            what: `the end of the leases of round ${round}`,
          },
        );
      }
    } finally {
      await locker.end();
    }
  }, 120_000);
});
