import { queueIdOf } from '../ids.ts';
import type { Job } from '../job.ts';
import { callOf } from '../postgres/pipeline.ts';
import type { Database } from '../postgres/pool.ts';
import { planned, prepared, row } from '../postgres/statements.ts';
import { KEPT_SECONDS } from '../waiting/waiters.ts';
import { type AttemptsOf, dueAt, toldAttempts } from './told.ts';

interface Found extends Pick<Job, 'queue' | 'headers' | 'unique_key' | 'group' | 'fairness_key'> {
  moved: string | null;
  created_at: string;
  run_at: string | null;
  delay_seconds: number;
  priority: number;
  max_attempts: number;
  payload: string;
}

interface Removed extends Found {
  finished_at: string;
}

const statements = {
  find: planned('relay/find', row<Found>()),
  hold: prepared('relay/hold'),
  remove: prepared('relay/remove', row<Removed>()),
  await: planned('relay/await'),
};

/** What no job has that nobody has claimed. */
const UNCLAIMED = {
  state: 'scheduled',
  attempt: 0,
  deliveries: 0,
  lease_expires_at: null,
  finished_at: null,
  worker: null,
  last_error: null,
  progress: null,
  result: null,
  // A job that goes to another database leaves its batch.
  batch: null,
} as const;

/** A job that an operation moves. Nobody has it on a lease. */
function movedJob(id: string, queue: string, line: string): Job {
  const { state: _state, group_key = null, ...job } = JSON.parse(line);
  const { fairness_key = null, unique_key = null } = job;
  const times = { run_at: toTime(job.run_at), created_at: toTime(job.created_at) };
  return { ...UNCLAIMED, ...shown(job), ...times, id, queue, group: group_key, fairness_key, unique_key };
}

const toTime = (text: string) => new Date(text).toISOString();

const shown = ({
  priority,
  attempt,
  max_attempts,
  deliveries,
  last_error = null,
  headers,
  payload,
}: Job) => ({
  priority,
  attempt,
  max_attempts,
  deliveries,
  last_error,
  headers,
  payload,
});

/** The jobs of this database that have not arrived yet. Each is told as `scheduled`. */
export function createWaitingJobs(db: Database, attemptsOf: AttemptsOf) {
  function toJob(id: string, { moved, delay_seconds, ...job }: Found): Job {
    if (moved !== null) return movedJob(id, job.queue, moved);
    return {
      ...UNCLAIMED,
      ...job,
      id,
      max_attempts: toldAttempts(job.max_attempts, queueIdOf(id) as number, attemptsOf),
      run_at: dueAt(job.created_at, job.run_at, delay_seconds),
    };
  }

  return {
    async find(id: string): Promise<Job | undefined> {
      const [found] = await db.query(statements.find, { id });
      return found && toJob(id, found);
    },

    /** Cancels the job. Undefined: it is not here, or may have arrived: it is in a parcel. */
    async remove(id: string): Promise<Job | undefined> {
      const calls = [callOf(statements.hold, { id }), callOf(statements.remove, { id })];
      const [removed] = (await db.pipeline(calls)).at(-1) as unknown as Removed[];
      if (!removed) return undefined;
      const { finished_at, ...found } = removed;
      const { payload: _, ...job } = toJob(id, found);
      return { ...job, state: 'cancelled', finished_at };
    },

    /** A client waits for the end of the job. False: it is not here. */
    async awaited(id: string, seconds: number): Promise<boolean> {
      const rows = await db.query(statements.await, { id, seconds: seconds + KEPT_SECONDS });
      return rows.length > 0;
    },
  };
}
