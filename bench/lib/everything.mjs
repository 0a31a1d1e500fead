import { randomUUID } from 'node:crypto';
import { PAYLOAD } from './jobs.mjs';

/** A queue for each kind of jobs that needs one, with its configuration. */
export const QUEUES = {
  awaited: {},
  plain: {},
  groups: {},
  fair: {},
  kept: { retention_seconds: 60 },
  ticks: {},
  limited: { max_leased: 1000, rate_limit: { jobs: 1_000_000, per_seconds: 1 } },
};

const job = (queue, rest) => ({ queue, payload: JSON.parse(PAYLOAD), ...rest });

/** A schedule whose jobs are counted when they are done. */
export const SCHEDULE = { cron: '* * * * * *', job: { queue: 'ticks', headers: { does: 'tick' } } };

/** The i-th job, with the headers of its request. Every feature has its turn. */
const KINDS = [
  () => ({ job: job('plain') }),
  (i) => ({ job: job('plain'), with: { 'idempotency-key': `soak-${i}` } }),
  () => ({ job: job('awaited'), with: { prefer: 'wait=10' } }),
  (i) => ({ job: job('plain', { unique_key: `u${i}` }) }),
  (i) => ({ job: job('plain', { priority: (i % 201) - 100, expires_in_seconds: 86_400 }) }),
  (i) => ({ job: job('plain', { delay_seconds: 1 + (i % 50) / 10 }) }),
  (i) => ({ job: job('groups', { group: `g${i % 199}` }) }),
  (i) => ({ job: job('fair', { fairness_key: `tenant ${i % 11}` }) }),
  (i) => ({ job: job('kept', { headers: { tenant: `t${i % 7}` } }) }),
  () => ({ job: job('limited') }),
  () => ({ job: job('plain', { headers: { does: 'fail' } }) }),
  () => ({ job: job('plain', { headers: { does: 'extend' } }) }),
  () => ({ job: job('plain', { headers: { does: 'follow' } }) }),
  () => ({ job: job('plain', { headers: { does: 'release' } }) }),
];

export const everyKind = (i) => KINDS[i % KINDS.length](i);
export const plainKind = () => KINDS[0]();

/** What a worker does with a job: where it stands in POST /jobs/settle, and with what. */
const settled = {
  done: () => ['acks', {}],
  fail: ({ attempt }) =>
    attempt > 1 ? ['acks', {}] : ['nacks', { error: 'the first attempt fails', delay_seconds: 0.5 }],
  release: ({ deliveries }) => [deliveries > 1 ? 'acks' : 'releases', {}],
  extend: () => ['acks', {}],
  follow: () => ['acks', { enqueue: [job('plain')] }],
  tick: () => ['acks', {}],
};

/** Enqueues jobs over HTTP and works on them. It counts what was answered, and takes the times. */
export function createLoad(http, kindOf) {
  let made = 0;
  const counts = { enqueued: 0, acked: 0, ticks: 0 };
  let times = { enqueue: [], settle: [] };
  const [first, ...others] = Object.keys(QUEUES);

  /** Clients wait for the jobs of the first queue. The others come first in turn. */
  function claim(more) {
    others.push(others.shift());
    return { queues: [first, ...others], claim_id: randomUUID(), ...more };
  }

  async function enqueue() {
    const { job, with: headers } = kindOf(made++);
    const { ms } = await http.post('/jobs', job, headers);
    counts.enqueued++;
    if (!headers?.prefer) times.enqueue.push(ms);
  }

  /** Settles a job and claims the next one in the same request. */
  async function settle(job) {
    const does = job.headers.does ?? 'done';
    const { id, lease_token } = job;
    if (does === 'extend') await http.post(`/jobs/${id}/extend`, { lease_token, lease_seconds: 30 });
    const [verb, item] = settled[does](job);
    const { body, ms } = await http.post('/jobs/settle', {
      [verb]: [{ id, lease_token, ...item }],
      claim: claim(),
    });
    const [result] = body[verb];
    if (result.status !== 200) throw new Error(`POST /jobs/settle: ${JSON.stringify(result)}`);
    if (does === 'tick') counts.ticks++;
    else if (verb === 'acks') counts.acked++;
    counts.enqueued += result.enqueued?.length ?? 0;
    times.settle.push(ms);
    return body.jobs[0];
  }

  return {
    counts,
    enqueue,
    /** Works until `isOver`. `before` runs before each job. */
    async work(isOver, before = () => undefined) {
      let job;
      while (!isOver()) {
        await before();
        job ??= (await http.post('/jobs/claim', claim({ wait_seconds: 1 }))).body.jobs[0];
        if (job) job = await settle(job);
      }
      if (job) await settle(job);
    },
    /** The times since the last call, in ms. */
    takeTimes() {
      const taken = times;
      times = { enqueue: [], settle: [] };
      return taken;
    },
  };
}
