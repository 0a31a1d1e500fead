// A job's whole life through openapi-fetch, with the types that openapi-typescript writes.
import { deepStrictEqual, ok, strictEqual } from 'node:assert';
import createClient from 'openapi-fetch';
import type { components, paths } from './generated/schema.js';

type Problem = components['schemas']['Problem'];

const queue = 'sdk.openapi-fetch';
const payload = { text: 'Grüße', list: [1, 2.5, null] };
const client = createClient<paths>({ baseUrl: process.argv[2] });
const inQueue = { path: { queue } };

/** What a call answered. @throws what it was refused with. */
async function must<T>(call: Promise<{ data?: T; error?: Problem }>): Promise<T> {
  const { data, error } = await call;
  if (data === undefined) throw new Error(error?.detail);
  return data;
}

const configured = await must(
  client.PUT('/queues/{queue}', {
    params: inQueue,
    body: { lease_seconds: 60, backoff: { kind: 'constant', base_seconds: 0.25 } },
  }),
);
strictEqual(configured.config.lease_seconds, 60);
strictEqual(configured.config.backoff?.kind, 'constant');
strictEqual(configured.oldest_ready_age_seconds, null);

const job = await must(
  client.POST('/jobs', { body: { queue, payload, headers: { tenant: 'a' }, priority: 5 } }),
);
strictEqual(job.state, 'ready');
strictEqual(job.lease_expires_at, null);
const batch = await must(
  client.POST('/jobs/batch', { body: { jobs: [0, 1, 2].map((n) => ({ queue, payload: n })) } }),
);
strictEqual(batch.jobs.length, 3);

strictEqual((await must(client.POST('/queues/{queue}/pause', { params: inQueue }))).paused, true);
strictEqual((await must(client.POST('/queues/{queue}/resume', { params: inQueue }))).paused, false);
strictEqual((await must(client.GET('/queues/{queue}', { params: inQueue }))).counts.ready, 4);
const { queues } = await must(client.GET('/queues', { params: { query: { limit: 10 } } }));
ok(queues.some(({ name }) => name === queue));

const claim = await must(
  client.POST('/jobs/claim', { body: { queues: [queue], limit: 4, worker: 'openapi-fetch' } }),
);
const [first, second, third, fourth] = claim.jobs;
ok(first && second && third && fourth);
strictEqual(first.id, job.id);
deepStrictEqual(first.payload, payload);
deepStrictEqual(first.headers, { tenant: 'a' });

const path = { id: first.id };
const extended = await must(
  client.POST('/jobs/{id}/extend', {
    params: { path },
    body: { lease_token: first.lease_token, lease_seconds: 120, progress: { done: 1 } },
  }),
);
ok(extended.lease_expires_at > first.lease_expires_at);
const looked = await must(client.GET('/jobs/{id}', { params: { path } }));
strictEqual(looked.state, 'leased');
deepStrictEqual(looked.progress, { done: 1 });

const acked = await must(
  client.POST('/jobs/{id}/ack', { params: { path }, body: { lease_token: first.lease_token, result: true } }),
);
strictEqual(acked.state, 'completed');
const nacked = await must(
  client.POST('/jobs/{id}/nack', {
    params: { path: { id: second.id } },
    body: { lease_token: second.lease_token, error: 'no luck', delay_seconds: 3600 },
  }),
);
strictEqual(nacked.state, 'scheduled');
strictEqual(nacked.last_error, 'no luck');
const settled = await must(
  client.POST('/jobs/settle', {
    body: {
      acks: [
        { id: third.id, lease_token: third.lease_token },
        { id: fourth.id, lease_token: 'stale' },
      ],
      nacks: [{ id: fourth.id, lease_token: fourth.lease_token, retry: false }],
    },
  }),
);
deepStrictEqual(
  settled.acks.map(({ status, problem }) => [status, problem?.code]),
  [
    [200, undefined],
    [409, 'lease_lost'],
  ],
);
strictEqual(settled.nacks[0]?.state, 'dead');

const page = await must(
  client.GET('/jobs', { params: { query: { queue, state: 'dead', include: 'payload' } } }),
);
deepStrictEqual(
  page.jobs.map((dead) => dead.payload),
  [2],
);
strictEqual(page.next_cursor, null);

const opened = await must(
  client.POST('/batches', { body: { queue, on_success: { queue, payload: 'all done' } } }),
);
strictEqual(opened.state, 'open');
deepStrictEqual(opened.followers, ['on_success']);
const inBatch = { path: { id: opened.id } };
const member = await must(client.POST('/jobs', { body: { queue, batch: opened.id } }));
strictEqual(member.batch, opened.id);
strictEqual((await must(client.POST('/batches/{id}/close', { params: inBatch }))).state, 'running');
const [leased] = (await must(client.POST('/jobs/claim', { body: { queues: [queue] } }))).jobs;
ok(leased);
strictEqual(leased.id, member.id);
await must(
  client.POST('/jobs/{id}/ack', {
    params: { path: { id: leased.id } },
    body: { lease_token: leased.lease_token },
  }),
);
const ended = await must(client.GET('/batches/{id}', { params: inBatch }));
deepStrictEqual([ended.state, ended.counts.completed, ended.followers], ['succeeded', 1, []]);
const ready = await must(
  client.GET('/jobs', { params: { query: { queue, state: 'ready', include: 'payload' } } }),
);
deepStrictEqual(
  ready.jobs.map((follower) => follower.payload),
  ['all done'],
);

const gone = await client.GET('/jobs/{id}', { params: { path } });
strictEqual(gone.error?.code, 'job_not_found');
const wrong = await client.POST('/jobs', { body: { delay_seconds: 1, run_at: new Date().toISOString() } });
strictEqual(wrong.error?.errors?.[0]?.path, '/run_at');

console.log('the cycle is done');
