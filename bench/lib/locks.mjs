import { createRequire } from 'node:module';

/*
 * Calls that wait for what an open transaction holds. Each kind prepares its queue, has the transaction of the `user` (a client of pg)
 * hold something, and returns a call that needs it. test/service/lockWaits.test.ts walks more kinds, for their answers.
 */

const pg = createRequire(import.meta.url)('pg');

const holdsKey = (user, queue) => user.query('select dibs.enqueue($1, unique_key => $2)', [queue, 'held']);

async function leases(http, queue, count) {
  const jobs = Array(count).fill({ queue });
  await http.post('/jobs/batch', { jobs });
  return (await http.post('/jobs/claim', { queues: [queue], limit: count, lease_seconds: 3600 })).body.jobs;
}

async function deadJob(http, queue, job) {
  await http.json('PUT', `/queues/${queue}`, { max_attempts: 1 });
  const { id } = (await http.post('/jobs', { queue, ...job })).body;
  const [lease] = (await http.post('/jobs/claim', { queues: [queue] })).body.jobs;
  await http.post(`/jobs/${id}/nack`, { lease_token: lease.lease_token });
  return id;
}

async function lockedJob(http, user, queue) {
  const { id } = (await http.post('/jobs', { queue, delay_seconds: 3600 })).body;
  await user.query('select from dibs.jobs where id = $1 for update', [id]);
  return id;
}

let keys = 0;

export const LOCKED = {
  async 'enqueues with a held unique key'(http, user, queue) {
    await holdsKey(user, queue);
    return () => http.call('POST', '/jobs', { queue, unique_key: 'held' });
  },
  async 'the same, with an Idempotency-Key'(http, user, queue) {
    await holdsKey(user, queue);
    return () =>
      http.call('POST', '/jobs', { queue, unique_key: 'held' }, { 'idempotency-key': `${++keys}` });
  },
  async 'the same, in batches into two queues'(http, user, queue) {
    await holdsKey(user, queue);
    const jobs = [{ queue, unique_key: 'held' }, { queue: `${queue}.2` }];
    return () => http.call('POST', '/jobs/batch', { jobs });
  },
  async 'enqueues into a queue that the transaction has created'(http, user, queue) {
    await holdsKey(user, queue);
    return () => http.call('POST', '/jobs', { queue });
  },
  async 'acks with a follow-up that has a held unique key'(http, user, queue) {
    const jobs = await leases(http, queue, 100);
    await holdsKey(user, queue);
    return (i) => {
      const { id, lease_token } = jobs[i % jobs.length];
      return http.call('POST', `/jobs/${id}/ack`, { lease_token, enqueue: [{ queue, unique_key: 'held' }] });
    };
  },
  async 'retries of a dead job whose unique key is held'(http, user, queue) {
    const id = await deadJob(http, queue, { unique_key: 'held' });
    await holdsKey(user, queue);
    return () => http.call('POST', `/jobs/${id}/retry`);
  },
  async 'redrives of such a job'(http, user, queue) {
    await deadJob(http, queue, { unique_key: 'held' });
    await holdsKey(user, queue);
    return () => http.call('POST', `/queues/${queue}/redrive`, {});
  },
  async 'forced deletions of a queue'(http, user, queue) {
    await http.post('/jobs', { queue });
    await holdsKey(user, queue);
    return () => http.call('DELETE', `/queues/${queue}?force=true`);
  },
  async 'configurations of a queue that is locked'(http, user, queue) {
    await http.json('PUT', `/queues/${queue}`, {});
    await user.query('select from dibs.queues where name = $1 for update', [queue]);
    return () => http.call('PUT', `/queues/${queue}`, {});
  },
  async 'cancels of a job that is locked'(http, user, queue) {
    const id = await lockedJob(http, user, queue);
    return () => http.call('DELETE', `/jobs/${id}`);
  },
  async 'acks of jobs that are locked'(http, user, queue) {
    const jobs = await leases(http, queue, 100);
    await user.query('select from dibs.jobs where id = any ($1::uuid[]) for update', [
      jobs.map(({ id }) => id),
    ]);
    return (i) => {
      const { id, lease_token } = jobs[i % jobs.length];
      return http.call('POST', `/jobs/${id}/ack`, { lease_token });
    };
  },
};

/** Runs `work` beside an open transaction of somebody. */
export async function besideTransaction(databaseUrl, work) {
  const user = new pg.Client(databaseUrl);
  await user.connect();
  try {
    await user.query('begin');
    return await work(user);
  } finally {
    await user.query('rollback');
    await user.end();
  }
}

/** So many clients make these calls for so long, each again and again. Returns how they were answered. */
export async function flood(calls, clients, seconds) {
  const until = performance.now() + seconds * 1000;
  const answers = {};
  await Promise.all(
    Array.from({ length: clients }, async (_, i) => {
      while (performance.now() < until) {
        const { status } = await calls[i % calls.length](i);
        answers[status] = (answers[status] ?? 0) + 1;
        // Those that are not refused pass over what is locked.
        if (status !== 503) await new Promise((resolve) => setTimeout(resolve, 100));
      }
    }),
  );
  return answers;
}
