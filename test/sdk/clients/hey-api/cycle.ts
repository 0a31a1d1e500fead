// A job's whole life through the client that @hey-api/openapi-ts writes.
import { deepStrictEqual, ok, strictEqual } from 'node:assert';
import { client } from './generated/client.gen.js';
import {
  ackJob,
  claimJobs,
  closeBatch,
  configureQueue,
  createBatch,
  enqueueJob,
  enqueueJobs,
  extendLease,
  getBatch,
  getJob,
  getQueue,
  type JobSpec,
  listJobs,
  listQueues,
  nackJob,
  pauseQueue,
  resumeQueue,
  settleJobs,
} from './generated/index.js';

const queue = 'sdk.hey-api';
const payload = { text: 'Grüße', list: [1, 2.5, null] };
client.setConfig({ baseUrl: process.argv[2] as `${string}://${string}` });
const must = { throwOnError: true } as const;
const inQueue = { path: { queue }, ...must };

const configured = await configureQueue({
  ...inQueue,
  body: { lease_seconds: 60, backoff: { kind: 'constant', base_seconds: 0.25 } },
});
strictEqual(configured.data.config.lease_seconds, 60);
strictEqual(configured.data.config.backoff?.kind, 'constant');
strictEqual(configured.data.oldest_ready_age_seconds, null);

const { data: job } = await enqueueJob({
  ...must,
  body: { queue, payload, headers: { tenant: 'a' }, priority: 5 },
});
strictEqual(job.state, 'ready');
strictEqual(job.lease_expires_at, null);
const specs: JobSpec[] = [0, 1, 2].map((n) => ({ queue, payload: n }));
const batch = await enqueueJobs({ ...must, body: { jobs: specs } });
strictEqual(batch.data.jobs.length, 3);

strictEqual((await pauseQueue(inQueue)).data.paused, true);
strictEqual((await resumeQueue(inQueue)).data.paused, false);
strictEqual((await getQueue(inQueue)).data.counts.ready, 4);
const { queues } = (await listQueues({ ...must, query: { limit: 10 } })).data;
ok(queues.some(({ name }) => name === queue));

const claim = await claimJobs({ ...must, body: { queues: [queue], limit: 4, worker: 'hey-api' } });
const [first, second, third, fourth] = claim.data.jobs;
ok(first && second && third && fourth);
strictEqual(first.id, job.id);
deepStrictEqual(first.payload, payload);
deepStrictEqual(first.headers, { tenant: 'a' });

const path = { id: first.id };
const { data: extended } = await extendLease({
  ...must,
  path,
  body: { lease_token: first.lease_token, lease_seconds: 120, progress: { done: 1 } },
});
ok(extended.lease_expires_at > first.lease_expires_at);
const { data: looked } = await getJob({ ...must, path });
strictEqual(looked.state, 'leased');
deepStrictEqual(looked.progress, { done: 1 });

const { data: acked } = await ackJob({
  ...must,
  path,
  body: { lease_token: first.lease_token, result: true },
});
strictEqual(acked.state, 'completed');
const { data: nacked } = await nackJob({
  ...must,
  path: { id: second.id },
  body: { lease_token: second.lease_token, error: 'no luck', delay_seconds: 3600 },
});
strictEqual(nacked.state, 'scheduled');
strictEqual(nacked.last_error, 'no luck');
const { data: settled } = await settleJobs({
  ...must,
  body: {
    acks: [
      { id: third.id, lease_token: third.lease_token },
      { id: fourth.id, lease_token: 'stale' },
    ],
    nacks: [{ id: fourth.id, lease_token: fourth.lease_token, retry: false }],
  },
});
deepStrictEqual(
  settled.acks.map(({ status, problem }) => [status, problem?.code]),
  [
    [200, undefined],
    [409, 'lease_lost'],
  ],
);
strictEqual(settled.nacks[0]?.state, 'dead');

const { data: page } = await listJobs({ ...must, query: { queue, state: 'dead', include: 'payload' } });
deepStrictEqual(
  page.jobs.map((dead) => dead.payload),
  [2],
);
strictEqual(page.next_cursor, null);

const { data: opened } = await createBatch({
  ...must,
  body: { queue, on_success: { queue, payload: 'all done' } },
});
strictEqual(opened.state, 'open');
deepStrictEqual(opened.followers, ['on_success']);
const inBatch = { path: { id: opened.id }, ...must };
const { data: member } = await enqueueJob({ ...must, body: { queue, batch: opened.id } });
strictEqual(member.batch, opened.id);
strictEqual((await closeBatch(inBatch)).data.state, 'running');
const [leased] = (await claimJobs({ ...must, body: { queues: [queue] } })).data.jobs;
ok(leased);
strictEqual(leased.id, member.id);
await ackJob({ ...must, path: { id: leased.id }, body: { lease_token: leased.lease_token } });
const { data: ended } = await getBatch(inBatch);
deepStrictEqual([ended.state, ended.counts.completed, ended.followers], ['succeeded', 1, []]);
const { data: ready } = await listJobs({ ...must, query: { queue, state: 'ready', include: 'payload' } });
deepStrictEqual(
  ready.jobs.map((follower) => follower.payload),
  ['all done'],
);

const gone = await getJob({ path });
strictEqual(gone.error?.code, 'job_not_found');
const wrong = await enqueueJob({ body: { delay_seconds: 1, run_at: new Date().toISOString() } });
strictEqual(wrong.error?.errors?.[0]?.path, '/run_at');

console.log('the cycle is done');
