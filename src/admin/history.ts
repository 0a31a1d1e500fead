import { jobNotFound } from '../errors.ts';
import type { JobRow, JobState } from '../job.ts';
import type { Db } from '../postgres/pool.ts';
import { planned, prepared, row } from '../postgres/statements.ts';
import type { Queues } from '../queues/cache.ts';

export const HISTORY_EVENTS = [
  'enqueued',
  'leased',
  'acked',
  'nacked',
  'released',
  'rescued',
  'expired',
  'dead',
  'cancel_requested',
  'cancelled',
  'retried',
  'changed',
  'moved',
] as const;
export type HistoryEventName = (typeof HISTORY_EVENTS)[number];

/** A row of dibs.history. */
interface Noted {
  at: string;
  event: HistoryEventName;
  state: JobState;
  attempt: number;
  deliveries: number;
  worker: string | null;
  error: string | null;
  run_at: string | null;
}

export interface HistoryEvent {
  /** Null: not known. */
  at: string | null;
  event: HistoryEventName;
  attempt?: number;
  deliveries?: number;
  worker?: string;
  error?: string;
  run_at?: string;
}

export interface History {
  id: string;
  queue: string;
  events: HistoryEvent[];
  /** Older events were dropped. */
  truncated: boolean;
}

/** The function of sql/functions/note_history.sql keeps one more. */
const MOST_EVENTS = 50;

const statements = {
  job: prepared('settle/job', row<JobRow>()),
  history: planned('admin/history', row<Noted>()),
};

function eventsOf({ at, event, state, attempt, deliveries, worker, error, run_at }: Noted): HistoryEvent[] {
  const noted: HistoryEvent = {
    ...{ at, event, attempt, deliveries },
    ...(worker === null ? {} : { worker }),
    ...(error === null ? {} : { error }),
    ...(run_at === null ? {} : { run_at }),
  };
  const isDead = state === 'dead' && event !== 'moved' && event !== 'changed';
  return isDead ? [noted, { at, event: 'dead', attempt, deliveries }] : [noted];
}

/** What its row tells about a job beside its history: its lease, and its end. */
function lastOf(job: JobRow, noted: Noted[]): HistoryEvent[] {
  const { state, attempt, deliveries, worker, finished_at: at, last_error } = job;
  const lease = { attempt, deliveries, ...(worker === null ? {} : { worker }) };
  if (state === 'leased') return [{ at: null, event: 'leased', ...lease }];
  if (state === 'completed') return [{ at, event: 'acked', ...lease }];
  if (noted.some((one) => one.state === state)) return [];
  // It died, or was cancelled, while no history was kept.
  const error = last_error === null ? {} : { error: last_error };
  if (state === 'dead') return [{ at, event: 'dead', ...lease, ...error }];
  return state === 'cancelled' ? [{ at, event: 'cancelled', ...lease }] : [];
}

/** Tells what happened to a job. @throws Refusal `job_not_found` when nothing is known of it */
export function createHistory({ db, queues }: { db: Db; queues: Queues }) {
  return async function history({ id }: { id: string }): Promise<History> {
    const queue = await queues.ofJob(id);
    const key = { queue_id: queue.id, id };
    const noted = await db.query(statements.history, { ...key, limit: MOST_EVENTS + 1 });
    const [job] = await db.query(statements.job, key);
    if (!job && noted.length === 0) throw jobNotFound(id);
    const truncated = noted.length > MOST_EVENTS;
    const newest = noted.slice(-MOST_EVENTS);
    return {
      id,
      queue: queue.name,
      events: [
        ...(job ? [{ at: job.created_at, event: 'enqueued' } as const] : []),
        ...newest.flatMap(eventsOf),
        ...(job ? lastOf(job, newest) : []),
      ],
      truncated,
    };
  };
}
