// A job's whole life through the client that OpenAPI Generator writes for TypeScript with fetch.
import { deepStrictEqual, ok, strictEqual } from 'node:assert';
import {
  BatchesApi,
  Configuration,
  ConsumingApi,
  JobsApi,
  ProducingApi,
  QueuesApi,
  ResponseError,
} from './generated/index.js';

const queue = 'sdk.typescript-fetch';
const payload = { text: 'Grüße', list: [1, 2.5, null] };
const configuration = new Configuration({ basePath: process.argv[2] });
const producing = new ProducingApi(configuration);
const consuming = new ConsumingApi(configuration);
const jobs = new JobsApi(configuration);
const queues = new QueuesApi(configuration);
const batches = new BatchesApi(configuration);

/** The problem that refuses a call. */
async function refusal(call: Promise<unknown>) {
  const error = await call.then(
    () => undefined,
    (error) => error,
  );
  ok(error instanceof ResponseError, 'no problem was answered');
  return (await error.response.json()) as { code: string; errors?: { path: string }[] };
}

const configured = await queues.configureQueue({
  queue,
  queueConfig: { leaseSeconds: 60, backoff: { kind: 'constant', baseSeconds: 0.25 } },
});
strictEqual(configured.config.leaseSeconds, 60);
strictEqual(configured.config.backoff?.kind, 'constant');
strictEqual(configured.oldestReadyAgeSeconds, null);

const job = await producing.enqueueJob({
  jobSpec: { queue, payload, headers: { tenant: 'a' }, priority: 5 },
});
strictEqual(job.state, 'ready');
strictEqual(job.leaseExpiresAt, null);
const batch = await producing.enqueueJobs({
  jobSpecList: { jobs: [0, 1, 2].map((n) => ({ queue, payload: n })) },
});
strictEqual(batch.jobs.length, 3);

strictEqual((await queues.pauseQueue({ queue })).paused, true);
strictEqual((await queues.resumeQueue({ queue })).paused, false);
strictEqual((await queues.getQueue({ queue })).counts.ready, 4);
ok((await queues.listQueues()).queues.some(({ name }) => name === queue));

const claimRequest = { queues: [queue], limit: 4, worker: 'typescript-fetch' };
const [first, second, third, fourth] = (await consuming.claimJobs({ claimRequest })).jobs;
ok(first && second && third && fourth);
strictEqual(first.id, job.id);
deepStrictEqual(first.payload, payload);
deepStrictEqual(first.headers, { tenant: 'a' });

const { id, leaseToken } = first;
const extended = await consuming.extendLease({
  id,
  extendRequest: { leaseToken, leaseSeconds: 120, progress: { done: 1 } },
});
ok(extended.leaseExpiresAt > first.leaseExpiresAt);
const looked = await jobs.getJob({ id });
strictEqual(looked.state, 'leased');
deepStrictEqual(looked.progress, { done: 1 });

strictEqual((await consuming.ackJob({ id, ackRequest: { leaseToken, result: true } })).state, 'completed');
const nacked = await consuming.nackJob({
  id: second.id,
  nackRequest: { leaseToken: second.leaseToken, error: 'no luck', delaySeconds: 3600 },
});
strictEqual(nacked.state, 'scheduled');
strictEqual(nacked.lastError, 'no luck');
const settled = await consuming.settleJobs({
  settleRequest: {
    acks: [
      { id: third.id, leaseToken: third.leaseToken },
      { id: fourth.id, leaseToken: 'stale' },
    ],
    nacks: [{ id: fourth.id, leaseToken: fourth.leaseToken, retry: false }],
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

const page = await jobs.listJobs({ queue, state: 'dead', include: 'payload' });
deepStrictEqual(
  page.jobs.map((dead) => dead.payload),
  [2],
);
strictEqual(page.nextCursor, null);

const opened = await batches.createBatch({
  batchSpec: { queue, onSuccess: { queue, payload: 'all done' } },
});
strictEqual(opened.state, 'open');
deepStrictEqual(opened.followers, ['on_success']);
const member = await producing.enqueueJob({ jobSpec: { queue, batch: opened.id } });
strictEqual(member.batch, opened.id);
strictEqual((await batches.closeBatch({ id: opened.id })).state, 'running');
const [leased] = (await consuming.claimJobs({ claimRequest: { queues: [queue] } })).jobs;
ok(leased);
strictEqual(leased.id, member.id);
await consuming.ackJob({ id: leased.id, ackRequest: { leaseToken: leased.leaseToken } });
const ended = await batches.getBatch({ id: opened.id });
deepStrictEqual([ended.state, ended.counts.completed, ended.followers], ['succeeded', 1, []]);
const ready = await jobs.listJobs({ queue, state: 'ready', include: 'payload' });
deepStrictEqual(
  ready.jobs.map((follower) => follower.payload),
  ['all done'],
);

strictEqual((await refusal(jobs.getJob({ id }))).code, 'job_not_found');
const wrong = await refusal(producing.enqueueJob({ jobSpec: { delaySeconds: 1, runAt: new Date() } }));
strictEqual(wrong.errors?.[0]?.path, '/run_at');

console.log('the cycle is done');
