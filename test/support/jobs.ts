import type pg from 'pg';
import { rareParameters } from '../../src/enqueue/rareFields.ts';
import { FIRST_ID } from '../../src/ids.ts';
import type { JobState } from '../../src/job.ts';
import type { ParametersOf, StatementName } from './statements.ts';

export const TOKEN = '00000000-0000-4000-8000-000000000001';
const BACKOFF = '{"kind":"exponential","base_seconds":1,"max_seconds":3600,"jitter":0.2}';

/** Jobs that makeJobs inserted. Those of `queue` have every `by`-th number from `first` to `last`. */
export interface Made {
  queue: number;
  first: number;
  last: number;
  by: number;
}

const idOf = (n: number) => `00000000-0000-7000-8000-${n.toString(16).padStart(12, '0')}`;

/**
 * Inserts jobs. Of every ten, six are ready, and one each is leased, scheduled, dead and completed. 1 in 100 of the leases
 * and delays is over. Every second scheduled job expires when its delay ends. The jobs are numbered from `from` and dealt
 * out to `queues` queues from `queue` on, and to fairness `keys`.
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

/** The number of jobs in the queue. */
export const jobsOf = (made: Made) => Math.floor((made.last - made.first) / made.by) + 1;

/** Up to `count` ids of these jobs, spread over all of them, ascending. */
function idsOf(made: Made, count: number): string[] {
  const there = jobsOf(made);
  const step = Math.max(1, Math.floor(there / count));
  return Array.from({ length: Math.min(count, there) }, (_, i) => idOf(made.first + i * step * made.by));
}

export interface Checked<N extends StatementName = StatementName> {
  /** Whether it is planned at each call. The others are prepared, and may keep a generic plan. */
  planned?: boolean;
  /** Whether it takes arrays of up to 1000 items. */
  batch?: boolean;
  /** How many rows it may touch besides those of its items: a page, a batch, or its whole queue (at most twice). */
  rows?: number | 'queue';
  parameters(made: Made, ids: string[]): ParametersOf<N>;
}

const all = <T>(items: unknown[], value: T): T[] => items.map(() => value);
const RANKS = Array.from({ length: 201 }, (_, i) => i - 100);
const positionsOf = (ids: string[]) => ids.map((_, i) => 10_000_000 + i);
const LATER = '2100-01-01';
/** Parameters of a statement that inserts jobs. */
export const newJobs = (queue: number, ids: string[]) => ({
  ...rareParameters([]),
  queue_id: queue,
  ids: ids.map((id) => id.replace(/^0/, 'f')),
  delays: all(ids, 0),
  run_ats: all(ids, null),
  priorities: all(ids, 0),
  max_attempts: all(ids, 5),
  backoffs: all(ids, null),
  headers: all(ids, '{}'),
  payloads: all(ids, '1'),
  waits: null,
});
/** A call point behind everything. */
export const AFTER_ALL = { last_position: 2 ** 50, open_transactions: ['3', '4'], next_transaction: 2 ** 31 };

/** The parameters of `claim/plain`: one claim that scans a whole queue. */
export const oneClaim = (queue_id: number, slots: number) => ({
  queue_id,
  slots,
  max_bytes: 2 ** 24,
  most_bytes: 2 ** 30,
  first_slots: [1],
  nonces: [TOKEN],
  lease_seconds: [30],
  workers: ['w'],
  ranks: [-100],
  positions: [-1],
  last_ranks: [100],
  last_positions: [2 ** 53 - 1],
  claim_ids: null,
  claim_holders: null,
  sessions: null,
});

/** The parameters of `claim/fair`, as above. */
export const oneFairClaim = (queue_id: number, slots: number) => ({
  ...oneClaim(queue_id, slots),
  cursor_ranks: [-2],
  cursor_keys: ['a'],
  holds_lock: false,
});

/** About how many jobs are at the front of a queue: sql/claim/front.sql. */
export const FRONT = 4000;

/** The parameters of `claim/front`, as above. */
export const oneFrontClaim = (queue_id: number, slots: number) => ({
  ...oneFairClaim(queue_id, slots),
  fair_ranks: [-100],
  fair_positions: [-1],
  fair_last_ranks: [100],
  fair_last_positions: [2 ** 53 - 1],
});

/** A portion of an operation that looks at jobs of this state, and at all states where no index has them by id. */
const oneWalk = (queue_id: number, state: JobState) => ({
  queue_id,
  state,
  walked_state: state === 'ready' ? null : state,
  after_id: FIRST_ID,
  limit: 1000,
  group: null,
  fairness_key: null,
  worker: null,
  error_contains: null,
  created_after: null,
  created_before: null,
  heads_since: null,
  ...AFTER_ALL,
});

/** A page of a list with filters that no index has. */
const oneMatch = (queue_id: number) => ({
  queue_id,
  payload_contains: null,
  look_bytes: 2 ** 23,
  unique_key: null,
  group: null,
  fairness_key: null,
  worker: null,
  error_contains: null,
  created_after: null,
  created_before: null,
  first_id: FIRST_ID,
  last_id: FIRST_ID.replaceAll('0', 'f'),
  after: null,
  look: 2000,
  limit: 100,
});

/** A page of a list of all queues, where no index has the jobs in its order. */
const ALL_QUEUES = { group: null, unique_key: null, visible: null, after: null, limit: 100, look: 20_000 };

/** Parameters of a statement that inserts the jobs of requests with keys of their own. */
/** The statements for which a bad plan would hurt, with parameters for some jobs. */
export const STATEMENTS: { [N in StatementName]?: Checked<N> } = {
  'claim/plain': { batch: true, parameters: ({ queue }, ids) => oneClaim(queue, ids.length) },
  'claim/heads': { batch: true, parameters: ({ queue }, ids) => oneClaim(queue, ids.length) },
  'claim/one': { parameters: ({ queue }) => oneClaim(queue, 1) },
  'claim/fair': { batch: true, parameters: ({ queue }, ids) => oneFairClaim(queue, ids.length) },
  'claim/front': {
    batch: true,
    rows: 3 * FRONT,
    parameters: ({ queue }, ids) => oneFrontClaim(queue, ids.length),
  },
  'floor/survey': {
    rows: 201,
    parameters: ({ queue }) => ({
      queue_id: queue,
      has_keys: false,
      ranks: RANKS,
      positions: all(RANKS, -1),
      last_ranks: RANKS,
      last_positions: all(RANKS, 2 ** 53 - 1),
    }),
  },
  'floor/recall': {
    planned: true,
    rows: 400,
    parameters: ({ queue }) => ({
      queue_id: queue,
      has_keys: false,
      ranks: [-4, -3],
      positions: [-1, -1],
      last_positions: [2 ** 53 - 1, 2 ** 53 - 1],
      limit: 100,
    }),
  },
  'claim/own': { parameters: () => ({ marks: [TOKEN], holders: [TOKEN], waits: [true] }) },
  'claim/own_leased': { parameters: () => ({ marks: [TOKEN], holders: [TOKEN] }) },
  'claim/repeat': { parameters: () => ({ mark: TOKEN, request: TOKEN, takes: true, waits: false }) },
  'claim/leave': { parameters: () => ({ mark: TOKEN, request: TOKEN }) },
  'claim/unname': { parameters: () => ({ mark: TOKEN }) },
  'maintenance/prune_claims': { planned: true, parameters: () => ({ from: '-infinity' }) },
  'enqueue/insert': {
    batch: true,
    parameters: ({ queue }, ids) => ({
      ...newJobs(queue, ids),
      groups: ids,
      leads: all(ids, true),
      batches: ids,
    }),
  },
  'enqueue/insert_one': {
    parameters: ({ queue }, ids) => ({ ...newJobs(queue, ids), groups: null, batches: ids }),
  },
  'enqueue/insert_new_keys': {
    batch: true,
    parameters: ({ queue }, ids) => ({ ...newJobs(queue, ids), unique_keys: ids, freeing: ids }),
  },
  'enqueue/check_windows': {
    batch: true,
    parameters: ({ queue }, ids) => ({ queue_id: queue, ids, unique_keys: ids }),
  },
  'enqueue/idempotency_keep_new': {
    batch: true,
    parameters: ({ queue }, ids) => ({
      queue_id: queue,
      queue: 'q',
      ids,
      firsts: ids,
      routes: all(ids, 'POST /jobs'),
      keys: ids,
      fingerprints: all(ids, '0'.repeat(64)),
      open_seconds: all(ids, null),
    }),
  },
  'enqueue/idempotency_taken': {
    batch: true,
    parameters: (_, ids) => ({ routes: all(ids, 'POST /jobs'), keys: ids }),
  },
  'settle/ack_with_follow_ups': {
    batch: true,
    parameters: ({ queue }, ids) => ({
      ...newJobs(queue, ids),
      next_queue_id: queue,
      acked_ids: ids,
      lease_tokens: all(ids, TOKEN),
      needs_trace: all(ids, true),
      follows: ids,
    }),
  },
  'settle/ack': {
    batch: true,
    parameters: ({ queue }, ids) => ({ queue_id: queue, ids, lease_tokens: all(ids, TOKEN) }),
  },
  'settle/ack_sole': {
    batch: true,
    parameters: ({ queue }, ids) => ({
      queue_id: queue,
      ids,
      lease_tokens: all(ids, TOKEN),
      kept_seconds: 10,
      most_bytes: 8192,
    }),
  },
  'settle/complete': {
    batch: true,
    parameters: ({ queue }, ids) => ({
      queue_id: queue,
      ids,
      lease_tokens: all(ids, TOKEN),
      results: all(ids, '1'),
    }),
  },
  'settle/nack': {
    batch: true,
    parameters: ({ queue }, ids) => ({
      queue_id: queue,
      ids,
      queue_backoff: BACKOFF,
      lease_tokens: all(ids, TOKEN),
      positions: positionsOf(ids),
      delays: all(ids, null),
      refusals: all(ids, false),
      jitter_shares: all(ids, 0.5),
      errors: all(ids, 'it failed'),
      late: false,
    }),
  },
  'settle/release': {
    batch: true,
    parameters: ({ queue }, ids) => ({
      queue_id: queue,
      ids,
      lease_tokens: all(ids, TOKEN),
      positions: positionsOf(ids),
      delays: all(ids, 0),
      late: false,
    }),
  },
  'settle/extend': {
    batch: true,
    parameters: ({ queue }, ids) => ({
      queue_id: queue,
      ids,
      lease_tokens: all(ids, TOKEN),
      lease_seconds: all(ids, 30),
      progress: all(ids, null),
    }),
  },
  'settle/jobs': { batch: true, parameters: ({ queue }, ids) => ({ queue_id: queue, ids }) },
  'settle/untouched': { batch: true, parameters: ({ queue }, ids) => ({ queue_id: queue, ids }) },
  'settle/drop_cancelled': {
    planned: true,
    batch: true,
    parameters: ({ queue }, ids) => ({ queue_id: queue, ids }),
  },
  'settle/keep_follow_ups': {
    planned: true,
    parameters: ({ queue }, [id = FIRST_ID]) => ({ queue_id: queue, id, enqueued: null }),
  },
  'settle/job': { parameters: ({ queue }, [id = FIRST_ID]) => ({ queue_id: queue, id }) },
  'waiting/await': { parameters: ({ queue }, [id = FIRST_ID]) => ({ queue_id: queue, id, seconds: 30 }) },
  'waiting/look': {
    batch: true,
    parameters: ({ queue }, ids) => ({ queue_id: queue, ids, most_bytes: 16_384 }),
  },
  'waiting/finished': { batch: true, parameters: ({ queue }, ids) => ({ queue_id: queue, ids }) },
  'groups/advance': {
    batch: true,
    parameters: ({ queue }, ids) => ({ queue_id: queue, groups: ids }),
  },
  'groups/advance_several': {
    batch: true,
    parameters: ({ queue }, ids) => ({ queue_id: queue, groups: ids }),
  },
  'groups/narrow': {
    planned: true,
    rows: 100,
    parameters: ({ queue }) => ({ queue_id: queue, after: '', limit: 100, groups: [] }),
  },
  'groups/waiting': {
    batch: true,
    parameters: ({ queue }, ids) => ({ queue_id: queue, groups: ids }),
  },
  'groups/lead': {
    batch: true,
    parameters: ({ queue }, ids) => ({ queue_id: queue, ids, groups: ids }),
  },
  'groups/advance_many': {
    planned: true,
    batch: true,
    parameters: ({ queue }, ids) => ({
      queue_ids: all(ids, queue),
      groups: ids,
      positions: positionsOf(ids),
    }),
  },
  'groups/headless': {
    planned: true,
    rows: 100,
    parameters: () => ({ queue_id: 0, after: '', to_queue_id: 2 ** 31 - 1, limit: 100 }),
  },
  'maintenance/rescue': {
    batch: true,
    parameters: ({ queue }, ids) => ({
      queue_id: queue,
      ids,
      positions: positionsOf(ids),
      given_from: '-infinity',
    }),
  },
  'maintenance/promote': {
    batch: true,
    parameters: ({ queue }, ids) => ({ queue_id: queue, ids, positions: positionsOf(ids) }),
  },
  'maintenance/expire': { batch: true, parameters: ({ queue }, ids) => ({ queue_id: queue, ids }) },
  'maintenance/due_leases': {
    rows: 1000,
    parameters: () => ({
      from: '-infinity',
      after_queue_id: 0,
      after_id: FIRST_ID,
      given_from: '-infinity',
      limit: 1000,
    }),
  },
  'maintenance/due_expiries': {
    rows: 1000,
    parameters: () => ({ from: '-infinity', after_queue_id: 0, after_id: FIRST_ID, limit: 1000 }),
  },
  'maintenance/due_scheduled': {
    rows: 1000,
    parameters: () => ({ from: '-infinity', after_queue_id: 0, after_id: '0', limit: 1000 }),
  },
  'maintenance/prunable': { planned: true, rows: 3 * 2000, parameters: () => ({ since_seconds: null }) },
  'maintenance/prune_jobs': {
    planned: true,
    rows: 2000,
    parameters: ({ queue }) => ({
      queue_id: queue,
      state: 'dead',
      retention_seconds: 0,
      after_finished_at: '-infinity',
      after_id: FIRST_ID,
      limit: 1000,
    }),
  },
  'operations/purge': {
    planned: true,
    rows: 4000,
    parameters: ({ queue }) => ({
      queue_id: queue,
      state: 'dead',
      after_id: FIRST_ID,
      ...AFTER_ALL,
      limit: 1000,
    }),
  },
  'operations/purge_ready': {
    planned: true,
    rows: 4000,
    parameters: ({ queue }) => ({
      queue_id: queue,
      after_rank: -101,
      after_position: 0,
      ...AFTER_ALL,
      limit: 1000,
    }),
  },
  'operations/purge_fair': {
    planned: true,
    rows: 4000,
    parameters: ({ queue }) => ({
      queue_id: queue,
      after_rank: -101,
      after_key: '',
      after_position: 0,
      ...AFTER_ALL,
      limit: 1000,
    }),
  },
  'operations/redrive': {
    planned: true,
    batch: true,
    parameters: ({ queue }, ids) => ({
      queue_id: queue,
      ids,
      positions: positionsOf(ids),
      states: ['dead', 'scheduled'],
      called_at: LATER,
    }),
  },
  'operations/redrive_page': {
    planned: true,
    rows: 1000,
    parameters: ({ queue }) => ({
      queue_id: queue,
      after_finished_at: '-infinity',
      after_id: FIRST_ID,
      called_at: LATER,
      error_contains: null,
      limit: 1000,
    }),
  },
  'changing/queue_clear': {
    planned: true,
    rows: 2000,
    parameters: ({ queue }) => ({ queue_id: queue, after_id: FIRST_ID, limit: 1000 }),
  },
  'changing/queue_empty': { planned: true, parameters: ({ queue }) => ({ queue_id: queue }) },
  'looking/explain_job': {
    planned: true,
    rows: 'queue',
    parameters: ({ queue }, [id = FIRST_ID]) => ({
      queue_id: queue,
      id,
      max_ahead: 10_000,
      max_keys: 1000,
      cursor_ranks: [-2],
      cursor_keys: ['a'],
    }),
  },
  'looking/explain_limits': { planned: true, parameters: ({ queue }) => ({ queue_id: queue }) },
  'looking/explain_queue': { planned: true, parameters: ({ queue }) => ({ queue_id: queue }) },
  'changing/cancel': { planned: true, parameters: ({ queue }, [id = FIRST_ID]) => ({ queue_id: queue, id }) },
  'changing/retry': {
    planned: true,
    parameters: ({ queue }, [id = FIRST_ID]) => ({ queue_id: queue, id, position: 1 }),
  },
  'counting/counts': {
    rows: 'queue',
    parameters: ({ queue }) => ({
      queue_ids: [queue],
      limits: [null],
      above_floors: false,
      leases_from: '-infinity',
    }),
  },
  'looking/list_newest': {
    planned: true,
    rows: 200,
    parameters: ({ queue }) => ({
      queue: `q${queue}`,
      state: null,
      group: null,
      unique_key: null,
      ids: null,
      queue_ids: null,
      after: null,
      limit: 100,
      max_bytes: 2 ** 24,
      include_payload: true,
      preview: 200,
      visible: null,
    }),
  },
  'looking/list_oldest': {
    planned: true,
    rows: 200,
    parameters: ({ queue }, [id = FIRST_ID]) => ({
      queue: `q${queue}`,
      state: 'dead',
      group: null,
      unique_key: null,
      ids: null,
      queue_ids: null,
      after: id,
      limit: 100,
      max_bytes: 2 ** 24,
      include_payload: false,
      preview: null,
      visible: null,
    }),
  },
  'looking/match_newest': {
    planned: true,
    rows: 2 * 2000 + 100,
    parameters: ({ queue }) => ({
      ...oneMatch(queue),
      state: 'ready',
      walked_state: null,
      error_contains: 'x',
    }),
  },
  'looking/match_oldest': {
    planned: true,
    rows: 2 * 2000 + 100,
    parameters: ({ queue }) => ({
      ...oneMatch(queue),
      state: 'dead',
      walked_state: 'dead',
      worker: 'w',
      payload_contains: 'x',
    }),
  },
  'looking/dead_errors': {
    planned: true,
    rows: 'queue',
    parameters: ({ queue }) => ({ queue_id: queue, look: 5000 }),
  },
  'looking/workers': {
    planned: true,
    rows: 'queue',
    parameters: ({ queue }) => ({ queue: `q${queue}`, visible: null, look: 20_000 }),
  },
  // It looks at 20,000 jobs in all, up to five times, and at 10 of each queue at least. A sequential scan is found in any case.
  'looking/match_all_newest': {
    planned: true,
    rows: 6 * 20_000,
    parameters: () => ({ ...ALL_QUEUES, state: 'blocked' }),
  },
  'looking/match_all_oldest': {
    planned: true,
    rows: 6 * 20_000,
    parameters: () => ({ ...ALL_QUEUES, state: 'ready' }),
  },
  'operations/count': {
    planned: true,
    rows: 3000,
    parameters: ({ queue }) => ({ ...oneWalk(queue, 'ready'), error_contains: 'x', worker: 'w' }),
  },
  'operations/page': {
    planned: true,
    rows: 3000,
    parameters: ({ queue }) => oneWalk(queue, 'dead'),
  },
  'operations/page_with_heads': {
    planned: true,
    rows: 3000,
    parameters: ({ queue }) => oneWalk(queue, 'blocked'),
  },
  'operations/leases': {
    planned: true,
    parameters: ({ queue }) => ({ id: TOKEN, queue_id: queue, after_id: FIRST_ID, limit: 1000 }),
  },
  'operations/cancel': {
    planned: true,
    batch: true,
    parameters: ({ queue }, ids) => ({ queue_id: queue, ids }),
  },
  'operations/delete': {
    planned: true,
    batch: true,
    parameters: ({ queue }, ids) => ({ queue_id: queue, ids }),
  },
  'operations/move': {
    planned: true,
    parameters: ({ queue }, ids) => ({ queue_id: queue, to_id: 77_777, ids, positions: positionsOf(ids) }),
  },
};

/** The parameters of a checked statement, for this number of jobs. */
export function parametersOf<N extends StatementName>(name: N, made: Made, count: number): ParametersOf<N> {
  return (STATEMENTS[name] as Checked<N>).parameters(made, idsOf(made, count));
}
