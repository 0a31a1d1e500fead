/** A cron that ticks at this time, and not again in the same run. */
const dailyAt = (at) => `${at.getUTCSeconds()} ${at.getUTCMinutes()} ${at.getUTCHours()} * * *`;
const secondsTo = (at) => (at - Date.now()) / 1000;
const stateIs = (state) => `(select state from dibs.jobs where id = $1) = '${state}'`;

/** When exactly a job expires, or its retention ends: the database knows. */
async function dueOf(db, id) {
  const { rows } = await db.query(
    `select coalesce(j.expires_at, j.finished_at + q.retention_seconds * interval '1 s') as due
     from dibs.jobs j join dibs.queues q on q.id = j.queue_id
     where j.id = $1`,
    [id],
  );
  return rows[0].due.toISOString();
}

/**
 * What falls due. `make` makes it due at about `at` in a queue of its own, over a client (http.mjs) and a connection. It returns
 * when exactly, and the `id` that `isDone` needs, a condition in SQL.
 */
export const DUE_KINDS = {
  'a lease ends': {
    async make({ http, queue, at }) {
      await http.post('/jobs', { queue });
      const { body } = await http.post('/jobs/claim', { queues: [queue], lease_seconds: secondsTo(at) });
      return { id: body.jobs[0].id, due: body.jobs[0].lease_expires_at };
    },
    isDone: stateIs('ready'),
  },
  'a run_at comes': {
    async make({ http, queue, at }) {
      const { body } = await http.post('/jobs', { queue, run_at: at.toISOString() });
      return { id: body.id, due: body.run_at };
    },
    isDone: stateIs('ready'),
  },
  'a job expires': {
    async make({ http, db, queue, at }) {
      const { body } = await http.post('/jobs', { queue, expires_in_seconds: secondsTo(at) });
      return { id: body.id, due: await dueOf(db, body.id) };
    },
    isDone: stateIs('dead'),
  },
  'a schedule ticks': {
    async make({ http, queue, at }) {
      const body = { cron: dailyAt(at), job: { queue } };
      const { next_run_at } = (await http.json('PUT', `/schedules/${queue}`, body)).body;
      return { id: queue, due: next_run_at };
    },
    isDone: 'exists (select from dibs.jobs j join dibs.queues q on q.id = j.queue_id where q.name = $1)',
  },
  'a retention ends': {
    async make({ http, db, queue, at }) {
      await http.json('PUT', `/queues/${queue}`, { retention_seconds: secondsTo(at) });
      await http.post('/jobs', { queue });
      const { jobs } = (await http.post('/jobs/claim', { queues: [queue] })).body;
      const [{ id, lease_token }] = jobs;
      await http.post(`/jobs/${id}/ack`, { lease_token });
      return { id, due: await dueOf(db, id) };
    },
    isDone: 'not exists (select from dibs.jobs where id = $1)',
  },
};
