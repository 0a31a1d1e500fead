import { jobNotFound } from '../errors.ts';
import { isUuid } from '../ids.ts';
import type { JobState } from '../job.ts';
import type { Db } from '../postgres/pool.ts';
import { planned, row } from '../postgres/statements.ts';
import type { Queues } from '../queues/cache.ts';
import type { History, HistoryEvent, HistoryEventName } from '../verbs/jobs.ts';

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
  leased_at: string | null;
  actor: string | null;
}

/** What the row of a job tells of its history: sql/history/history_job.sql. */
interface Kept {
  created_at: string;
  state: JobState;
  attempt: number;
  deliveries: number;
  worker: string | null;
  finished_at: string | null;
  last_error: string | null;
  leased_at: string | null;
  batch: string | null;
  headers: string;
}

/** An answer has so many. sql/functions/note_history.sql keeps one more, which tells that there were more. */
const MOST_EVENTS = 50;

const statements = {
  job: planned('history/history_job', row<Kept>()),
  history: planned('history/history', row<Noted>()),
};

/** Without the fields that are null. */
const known = <T extends object>(fields: T) =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null)) as {
    [K in keyof T]?: NonNullable<T[K]>;
  };

/** The batch that a job follows (sql/shared/follower_headers.sql). */
function followedBy(headers: string): string | null {
  if (!headers.includes('"dibs-batch"')) return null;
  const followed = JSON.parse(headers)['dibs-batch'];
  return isUuid(followed) ? followed : null;
}

const firstOf = ({ created_at: at, batch, headers }: Kept): HistoryEvent => ({
  ...{ at, event: 'enqueued' },
  ...known({ batch, follows: followedBy(headers) }),
});

function eventsOf({ at, event, state, attempt, deliveries, actor: by, ...rest }: Noted): HistoryEvent[] {
  const { worker, leased_at, error, run_at } = rest;
  const noted: HistoryEvent = {
    ...{ at, event, attempt, deliveries },
    ...known({ worker, leased_at, by, error, run_at }),
  };
  const isDead = state === 'dead' && event !== 'moved' && event !== 'changed';
  return isDead ? [noted, { at, event: 'dead', attempt, deliveries }] : [noted];
}

/** What its row tells about a job beside its history: its lease, and its end. */
function lastOf(job: Kept, noted: Noted[]): HistoryEvent[] {
  const { state, attempt, deliveries, worker, finished_at: at, last_error: error, leased_at } = job;
  const lease = { attempt, deliveries, ...known({ worker }) };
  if (state === 'leased') return [{ at: leased_at, event: 'leased', ...lease }];
  if (state === 'completed') return [{ at, event: 'acked', ...lease, ...known({ leased_at }) }];
  if (noted.some((one) => one.state === state)) return [];
  // It died, or was cancelled, while no history was kept.
  if (state === 'dead') return [{ at, event: 'dead', ...lease, ...known({ error }) }];
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
        ...(job ? [firstOf(job)] : []),
        ...newest.flatMap(eventsOf),
        ...(job ? lastOf(job, newest) : []),
      ],
      truncated,
    };
  };
}
