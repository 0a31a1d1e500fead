import type pg from 'pg';

export const TOKEN = '00000000-0000-4000-8000-000000000001';
const FIRST = '00000000-0000-0000-0000-000000000000';
const BACKOFF = '{"kind":"exponential","base_seconds":1,"max_seconds":3600,"jitter":0.2}';

/** Jobs that makeJobs inserted: those of `queue` have the numbers from `first` to `last`, every `by`-th one. */
export interface Made {
  queue: number;
  first: number;
  last: number;
  by: number;
}

const idOf = (n: number) => `00000000-0000-7000-8000-${n.toString(16).padStart(12, '0')}`;

/**
 * Inserts jobs, of every ten six ready, and one each leased, scheduled, dead and completed; 1 in 100 of the leases and
 * delays is over, and with every second of those delays the job's time. They are numbered from `from` and dealt out to `queues` queues
 * from `queue` on, and to fairness `keys`.
 */
export async function makeJobs(
  client: pg.Client,
  wish: { jobs: number; queues?: number; queue?: number; from?: number; state?: string; keys?: string[] },
): Promise<Made & { id(n: number): string }> {
  const { jobs, queues = 1, queue = 1, from = 1, state = null, keys = null } = wish;
  await client.query(
    `insert into dibs.queues (id, name) select n, 'q' || n from generate_series($1::integer, $2) n on conflict do nothing`,
    [queue, queue + queues - 1],
  );
  await client.query(
    `insert into dibs.jobs (queue_id, id, state, run_at, priority, max_attempts, attempt, deliveries, payload_bytes,
       headers, payload, lease_token, lease_expires_at, finished_at, expires_at, fairness_key)
     select
       $2::integer + n % $3::integer,
       ('00000000-0000-7000-8000-' || lpad(to_hex($4::integer + n), 12, '0'))::uuid,
       kind.state::dibs.job_state,
       now() + case when kind.state = 'scheduled' then kind.due else '0' end,
       n % 5, 5, 1, 1, 20, '{}', '{"to":"ada"}',
       case when kind.state = 'leased' then '${TOKEN}'::uuid end,
       case when kind.state = 'leased' then now() + kind.due end,
       case when kind.state in ('dead', 'completed') then now() - n * interval '1 ms' end,
       case when kind.state = 'scheduled' and n % 2 = 0 then now() + kind.due end,
       ($6::text[])[1 + n % cardinality($6)]
     from generate_series(0, $1::integer - 1) n
     cross join lateral (select
       coalesce($5, (array['ready','ready','ready','ready','ready','ready','leased','scheduled','dead','completed'])
         [1 + (hashint4(n) & 1048575) % 10]) as state,
       case when (hashint4(n) & 1048575) / 10 % 100 = 0 then -1 else 3600 end * interval '1 s' as due
     ) kind`,
    [jobs, queue, queues, from, state, keys],
  );
  return { queue, first: from, last: from + jobs - 1, by: queues, id: idOf };
}

/** How many jobs there are in the queue made. */
export const jobsOf = (made: Made) => Math.floor((made.last - made.first) / made.by) + 1;

/** Up to `count` ids of the jobs made, spread over all of them, ascending. */
function idsOf(made: Made, count: number): string[] {
  const there = jobsOf(made);
  const step = Math.max(1, Math.floor(there / count));
  return Array.from({ length: Math.min(count, there) }, (_, i) => idOf(made.first + i * step * made.by));
}

export interface Checked {
  /** Whether it is planned at each call; the others are prepared, and may keep a generic plan. */
  planned?: boolean;
  /** Whether it takes arrays of up to 1000 items. */
  batch?: boolean;
  /** How many rows it may touch beyond those of its items: a page or a batch of its own, or all of its queue (twice at most). */
  rows?: number | 'queue';
  parameters(made: Made, ids: string[]): unknown[];
}

const all = <T>(ids: string[], value: T): T[] => ids.map(() => value);
const places = (ids: string[]) => ids.map((_, i) => 10_000_000 + i);

/** The statements for which a bad plan would hurt, with parameters for some of the jobs made. */
export const STATEMENTS: Record<string, Checked> = {
  'claim/plain': {
    batch: true,
    parameters: (m, ids) => [
      m.queue,
      ids.length,
      2 ** 24,
      [1],
      [TOKEN],
      [30],
      ['w'],
      [-100],
      [-1],
      [100],
      null,
      null,
    ],
  },
  'claim/fair': {
    batch: true,
    parameters: (m, ids) => [
      ...[m.queue, ids.length, 2 ** 24, [1], [TOKEN], [30], ['w'], [-100], [-1], [100]],
      ...[null, null, [-2], ['a'], false],
    ],
  },
  'enqueue/insert': {
    batch: true,
    parameters: (m, ids) => [
      m.queue,
      ids.map((id) => id.replace(/^0/, 'f')),
      all(ids, 0),
      all(ids, null),
      all(ids, 0),
      all(ids, 5),
      all(ids, null),
      all(ids, '{}'),
      all(ids, '1'),
      ...Array(6).fill(null),
    ],
  },
  'settle/ack': { batch: true, parameters: (m, ids) => [m.queue, ids, all(ids, TOKEN)] },
  'settle/complete': { batch: true, parameters: (m, ids) => [m.queue, ids, all(ids, TOKEN), all(ids, '1')] },
  'settle/nack': {
    batch: true,
    parameters: (m, ids) => [
      m.queue,
      ids,
      BACKOFF,
      all(ids, TOKEN),
      places(ids),
      all(ids, null),
      all(ids, false),
      all(ids, 0.5),
      all(ids, 'it failed'),
      false,
    ],
  },
  'settle/release': {
    batch: true,
    parameters: (m, ids) => [m.queue, ids, all(ids, TOKEN), places(ids), all(ids, 0), false],
  },
  'settle/extend': {
    batch: true,
    parameters: (m, ids) => [m.queue, ids, all(ids, TOKEN), all(ids, 30), all(ids, null)],
  },
  'waiting/await': { parameters: (m, ids) => [m.queue, ids[0], 30] },
  'waiting/finished': { batch: true, parameters: (m, ids) => [m.queue, ids] },
  'settle/keep_follow_ups': { planned: true, parameters: (m, ids) => [m.queue, ids[0], null] },
  'settle/untouched': { batch: true, parameters: (m, ids) => [m.queue, ids] },
  'settle/drop_cancelled': { planned: true, batch: true, parameters: (m, ids) => [m.queue, ids] },
  'maintenance/rescue': { batch: true, parameters: (m, ids) => [m.queue, ids, places(ids)] },
  'maintenance/promote': { batch: true, parameters: (m, ids) => [m.queue, ids, places(ids)] },
  'claim/repeat': { parameters: (m) => [m.queue, 'c', TOKEN] },
  'claim/disown': { planned: true, parameters: (m) => [m.queue, 'c', TOKEN] },
  'maintenance/expire': { batch: true, parameters: (m, ids) => [m.queue, ids] },
  'admin/redrive': { planned: true, batch: true, parameters: (m, ids) => [m.queue, ids, places(ids)] },
  'groups/advance': { batch: true, parameters: (m, ids) => [m.queue, ids, places(ids)] },
  'groups/headless': { planned: true, rows: 100, parameters: (m) => [m.queue, '', 100] },
  'groups/blocked_queues': { planned: true, rows: 2 * 2000, parameters: () => [] },
  'maintenance/due_leases': { rows: 1000, parameters: () => ['-infinity', 1000] },
  'maintenance/due_expiries': { rows: 1000, parameters: () => ['-infinity', 1000] },
  'maintenance/due_scheduled': { rows: 1000, parameters: () => ['-infinity', 1000] },
  'maintenance/prune_jobs': {
    planned: true,
    rows: 2000,
    parameters: (m) => [m.queue, 'dead', 0, '-infinity', FIRST, 1000],
  },
  'admin/purge': {
    planned: true,
    rows: 4000,
    parameters: (m) => [m.queue, 'dead', FIRST, '2100-01-01', 1000],
  },
  'admin/purge_ready': {
    planned: true,
    rows: 4000,
    parameters: (m) => [m.queue, -101, 0, '2100-01-01', 1000],
  },
  'admin/purge_fair': {
    planned: true,
    rows: 4000,
    parameters: (m) => [m.queue, -101, '', 0, '2100-01-01', 1000],
  },
  'admin/redrive_page': {
    planned: true,
    rows: 1000,
    parameters: (m) => [m.queue, '-infinity', FIRST, '2100-01-01', null, 1000],
  },
  'admin/queue_clear': { planned: true, rows: 2000, parameters: (m) => [m.queue, FIRST, 1000] },
  'settle/job': { parameters: (m, ids) => [m.queue, ids[0]] },
  'admin/explain_job': { planned: true, rows: 'queue', parameters: (m, ids) => [m.queue, ids[0], 100_000] },
  'admin/explain_limits': { planned: true, parameters: (m) => [m.queue] },
  'admin/cancel': { planned: true, parameters: (m, ids) => [m.queue, ids[0]] },
  'admin/retry': { planned: true, parameters: (m, ids) => [m.queue, ids[0], 1] },
  'admin/queue_empty': { planned: true, parameters: (m) => [m.queue] },
  'admin/counts': { rows: 'queue', parameters: (m) => [[m.queue], [null]] },
  'maintenance/prunable': { planned: true, rows: 3 * 2000, parameters: () => [] },
  'admin/list_newest': {
    planned: true,
    rows: 200,
    parameters: (m) => [`q${m.queue}`, null, null, 100, true, null, null],
  },
  'admin/list_oldest': {
    planned: true,
    rows: 200,
    parameters: (m, ids) => [`q${m.queue}`, 'dead', ids[0], 100, false, null, null],
  },
};

export function parametersOf(name: string, made: Made, count: number): unknown[] {
  return (STATEMENTS[name] as Checked).parameters(made, idsOf(made, count));
}
