import { setTimeout as sleep } from 'node:timers/promises';
import { Agent, request } from 'undici';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { unreliablePostgres } from '../support/postgres.ts';
import { http, type Replica, startReplica } from '../support/replica.ts';
import { until } from '../support/until.ts';

/** 5 s are promised. The rest is for a busy machine: there the bound is 5 s and what three calls take that need no database. */
const ANSWERED_MS = 8000;
const PER_SECOND = 400;
const EVERY_MS = 20;

let postgres: Awaited<ReturnType<typeof unreliablePostgres>>;
let replica: Replica;
beforeAll(async () => {
  postgres = await unreliablePostgres();
  replica = await startReplica({ DATABASE_URL: postgres.url });
});
afterAll(async () => {
  await replica?.end('SIGKILL');
  await postgres?.remove();
});

type Lease = { id: string; lease_token: string };
type Call = [string, string, unknown?, Record<string, string>?];

const QUEUES = ['busy', 'busy-1', 'busy-2'];

/** A call of each kind. `n` tells one call of a kind from another. */
const kinds: Record<string, (n: number, lease: Lease) => Call> = {
  enqueue: (n) => ['POST', '/jobs', { queue: QUEUES[n % 3] }],
  'enqueue with a unique key': (n) => ['POST', '/jobs', { queue: 'unique', unique_key: `k${n}` }],
  'enqueue in a group': (n) => ['POST', '/jobs', { queue: 'groups', group: `g${n}` }],
  'enqueue once': (n) => ['POST', '/jobs', { queue: 'busy' }, { 'idempotency-key': `k${n}` }],
  'enqueue into many': (n) => [
    'POST',
    '/jobs/batch',
    { jobs: QUEUES.map((queue) => ({ queue, priority: n % 9 })) },
  ],
  'enqueue into a new queue': (n) => ['POST', '/jobs', { queue: `new-${n % 500}` }],
  claim: () => ['POST', '/jobs/claim', { queues: QUEUES, limit: 5 }],
  'claim and wait': () => ['POST', '/jobs/claim', { queues: ['empty'], wait_seconds: 2 }],
  'claim by claim_id': (n) => ['POST', '/jobs/claim', { queues: ['busy'], claim_id: `c${n}` }],
  ack: (_, { id, lease_token }) => ['POST', `/jobs/${id}/ack`, { lease_token }],
  'ack with a follow-up': (_, { id, lease_token }) => [
    'POST',
    `/jobs/${id}/ack`,
    { lease_token, enqueue: [{ queue: 'next' }] },
  ],
  nack: (_, { id, lease_token }) => ['POST', `/jobs/${id}/nack`, { lease_token }],
  extend: (_, { id, lease_token }) => ['POST', `/jobs/${id}/extend`, { lease_token, lease_seconds: 60 }],
  'get a job': (_, { id }) => ['GET', `/jobs/${id}`],
  'list jobs': () => ['GET', '/jobs?queue=busy&limit=5'],
  'get a queue': (n) => ['GET', `/queues/${QUEUES[n % 3]}`],
  'list queues': () => ['GET', '/queues?limit=5'],
  purge: () => ['POST', '/queues/purged/purge', { states: ['ready', 'dead'] }],
  configure: (n) => ['PUT', `/queues/configured-${n % 5}`, {}],
};

/** Asks for `/healthz` again and again, and tells how long the slowest answer took. */
function probe(dispatcher: Agent) {
  let isOver = false;
  let slowest = 0;
  const asking = (async () => {
    while (!isOver) {
      const started = performance.now();
      const { body } = await request(`${replica.url}/healthz`, { dispatcher });
      await body.dump();
      slowest = Math.max(slowest, performance.now() - started);
      await sleep(EVERY_MS);
    }
  })();
  return {
    async slowestMs(): Promise<number> {
      isOver = true;
      await asking;
      return slowest;
    },
  };
}

test(`a black hole: ${PER_SECOND} calls a second, of every kind, are answered within 5 s`, {
  timeout: 120_000,
}, async () => {
  for (const queue of [...QUEUES, 'purged', 'empty']) await http(replica.url, 'PUT', `/queues/${queue}`, {});
  const ids: Lease[] = [];
  for (let i = 0; i < 8; i++) {
    await http(replica.url, 'POST', '/jobs/batch', { jobs: Array(1000).fill({ queue: 'leased' }) });
    const { body } = await http(replica.url, 'POST', '/jobs/claim', {
      queues: ['leased'],
      limit: 1000,
      lease_seconds: 600,
    });
    ids.push(...body.jobs);
  }
  const agent = new Agent({ connections: null, headersTimeout: 30_000 });
  const slowest = new Map<string, number>();
  const wrong: string[] = [];
  const calls: Promise<void>[] = [];
  let goneAt = Number.POSITIVE_INFINITY;
  const names = Object.keys(kinds);

  async function call(n: number): Promise<void> {
    const kind = names[n % names.length] as string;
    const make = kinds[kind] as (typeof kinds)[string];
    const [method, path, body, headers] = make(n, ids[n % ids.length] as Lease);
    const started = performance.now();
    const answer = await request(replica.url + path, {
      method: method as 'GET',
      dispatcher: agent,
      headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
      body: body === undefined ? null : JSON.stringify(body),
    }).catch((error) => wrong.push(`${kind}, ${Math.round(started - goneAt)} ms after: ${error}`));
    if (typeof answer === 'number') return;
    const text = await answer.body.text();
    const ended = performance.now();
    if (answer.statusCode >= 500 && answer.statusCode !== 503) wrong.push(`${kind}: ${text}`);
    if (ended < goneAt) return;
    const ms = ended - Math.max(started, goneAt);
    slowest.set(kind, Math.max(slowest.get(kind) ?? 0, ms));
    if (started > goneAt && answer.statusCode !== 503) wrong.push(`${kind}: ${answer.statusCode} ${text}`);
  }

  let n = 0;
  async function load(forMs: number): Promise<void> {
    const [before, started] = [n, performance.now()];
    for (let passed = 0; passed < forMs; passed = performance.now() - started) {
      for (const due = before + (PER_SECOND * passed) / 1000; n < due; n++) calls.push(call(n));
      await sleep(EVERY_MS);
    }
  }
  await load(1500);
  postgres.vanish();
  goneAt = performance.now();
  const base = probe(agent);
  await load(7000);
  await Promise.all(calls);
  const mostMs = Math.max(ANSWERED_MS, 5000 + 3 * (await base.slowestMs()));
  expect(wrong).toEqual([]);
  for (const [kind, ms] of slowest) expect(ms, kind).toBeLessThan(mostMs);
  await postgres.appear();
  await until(async () => (await http(replica.url, 'GET', '/readyz')).status === 200, { withinMs: 10_000 });
  await agent.close();
});
