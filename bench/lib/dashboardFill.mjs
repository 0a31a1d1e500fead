import pg from 'pg';

/*
 * A database as an operator finds it: jobs of a week in all states, in very many queues, with errors, groups, keys and workers,
 * beside a history, an audit, schedules and operations. Written by plain INSERTs, so that tables and indexes are as Dibs leaves them.
 */

/** Jobs that one statement writes. */
const AT_ONCE = 200_000;
const WEEK_MS = 7 * 86_400_000;

export const queueName = (i) => `queue.${String(i).padStart(4, '0')}`;
export const ERRORS = ['SMTP 421 try later', 'connect ECONNREFUSED', 'no such user', 'out of memory'];
export const WORKERS = 50;
export const LEASES = 1000;

/**
 * Jobs $1 to $2 of $3: the n-th of all is of the n-th moment of the last week. A tenth of them is in the first queue, and a tenth in the
 * last one. Of 100 jobs: 10 dead, 5 completed, 2 cancelled, 10 scheduled, 10 of groups of ten, whose first is ready, and the rest ready.
 * In the last queue all are dead, but for the oldest thousandth, which is ready.
 */
const JOBS = `
  insert into dibs.jobs (
    queue_id, id, state, run_at, created_at, finished_at, priority, attempt, deliveries, max_attempts, payload_bytes, headers,
    payload, last_error, group_key, is_head, fairness_key
  )
  select
    q.id,
    (lpad(to_hex((extract(epoch from at) * 1000)::bigint), 12, '0') || '7' || lpad(to_hex(i % 4096), 3, '0') || 'b'
      || lpad(to_hex(i), 9, '0') || lpad(to_hex(q.id), 6, '0'))::uuid,
    kind.state::dibs.job_state,
    case kind.state when 'scheduled' then now() + (i % 1000 + 1) * interval '1 hour' else at end,
    at,
    case when kind.state in ('dead', 'completed', 'cancelled') then at + interval '1 minute' end,
    0,
    case kind.state when 'dead' then 5 when 'completed' then 1 else 0 end,
    case kind.state when 'dead' then 5 when 'completed' then 1 else 0 end,
    5, octet_length(payload), '{}', payload::json,
    case kind.state when 'dead' then ($4::text[])[i % cardinality($4::text[]) + 1] || ' ' || i end,
    case when kind.of_group then 'group-' || (i / 100) end,
    kind.of_group and i % 10 = 0,
    case when i % 4 = 0 then 'customer-' || (i % 997) end
  from generate_series($1::bigint, $2::bigint - 1) as i
  cross join lateral (select now() - $5 * interval '1 millisecond' * (1 - i::double precision / $3)) as moment (at)
  cross join lateral (select '{"to":"user' || i || '@example.com","template":"welcome","n":' || i || '}') as p (payload)
  cross join lateral (
    select
      case
        when i / 100 % 10 = 1 then case when i < $3 / 1000 then 'ready' else 'dead' end
        when i % 100 < 10 then 'dead' when i % 100 < 15 then 'completed' when i % 100 < 17 then 'cancelled'
        when i % 100 < 27 then 'scheduled' when i % 100 between 31 and 39 then 'blocked' else 'ready'
      end as state,
      i % 100 between 30 and 39 and i / 100 % 10 <> 1 as of_group
  ) as kind
  join dibs.queues q on q.name = 'queue.' || lpad((
    case i / 100 % 10 when 0 then 0 when 1 then $6::integer - 1 else i / 100 % $6::integer end
  )::text, 4, '0')
`;

const HISTORY = `
  insert into dibs.history (queue_id, job_id, at, event, state, attempt, deliveries, worker, error, leased_at)
  select queue_id, id, finished_at, 'nacked', case when n = 5 then 'dead' else 'ready' end::dibs.job_state, n, n, 'worker-' || n,
    last_error, created_at
  from (select * from dibs.jobs where state = 'dead' limit $1) as dead
  cross join generate_series(1, 5) as n
`;

const AUDIT = `
  insert into dibs.audit (created_at, actor, verb, queue, count, outcome, address)
  select now() - (100000 - i) * interval '1 minute', 'key-' || i % 20, (array['purgeQueue', 'retryJob', 'pauseQueue'])[i % 3 + 1],
    'queue.' || lpad((i % $1)::text, 4, '0'), i % 100, 'done', '10.0.0.' || i % 255
  from generate_series(1, 100000) as i
`;

/** Fills the database. `say` hears how far it is. */
export async function fillForDashboard(url, { jobs, queues }, http, say) {
  const client = new pg.Client(url);
  await client.connect();
  const started = performance.now();
  const took = () => `${Math.round((performance.now() - started) / 1000)} s`;
  try {
    const config = JSON.stringify({ retention_seconds: 30 * 86_400, dead_retention_seconds: 30 * 86_400 });
    for (let i = 0; i < queues; i++) await http.json('PUT', `/queues/${queueName(i)}`, config);
    for (let from = 0; from < jobs; from += AT_ONCE) {
      const to = Math.min(jobs, from + AT_ONCE);
      await client.query(JOBS, [from, to, jobs, ERRORS, WEEK_MS, queues]);
      say(`${to} of ${jobs} jobs after ${took()}`);
    }
    await client.query(HISTORY, [Math.min(200_000, jobs)]);
    await client.query(AUDIT, [queues]);
    for (let i = 0; i < 200; i++)
      await http.json('PUT', `/schedules/nightly-${i}`, {
        cron: `${i % 60} 3 * * *`,
        timezone: 'Europe/Berlin',
        job: { queue: queueName(i) },
      });
    for (let i = 0; i < LEASES; i += 20)
      await http.post('/jobs/claim', {
        queues: [queueName((i / 20) % queues)],
        limit: 20,
        lease_seconds: 43_200,
        worker: `worker-${i % WORKERS}`,
      });
    for (let i = 0; i < 60; i++)
      await http.post('/operations', {
        verb: 'retry',
        queue: queueName(i % queues),
        filter: { states: ['dead'], error_contains: 'nothing has this' },
        dry_run: true,
      });
    say(`The rest after ${took()}. Vacuum and analyze.`);
    await client.query('vacuum (analyze)');
    await client.query('checkpoint');
    say(`Ready after ${took()}.`);
    const { rows } = await client.query(
      `select
        array(select id from dibs.jobs where state = 'dead' order by queue_id, id limit 300) as dead,
        array(select id from dibs.jobs tablesample system (1) limit 300) as any`,
    );
    return rows[0];
  } finally {
    await client.end();
  }
}
