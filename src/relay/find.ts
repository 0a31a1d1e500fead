import type { Job } from '../job.ts';
import type { Db } from '../postgres/pool.ts';
import { planned, row } from '../postgres/statements.ts';
import { AS_QUEUE_SAYS } from '../queues/elsewhere.ts';
import { ATTEMPTS, dueAt } from './write.ts';

interface Found extends Pick<Job, 'queue' | 'headers' | 'unique_key' | 'group' | 'fairness_key'> {
  moved: string | null;
  created_at: string;
  run_at: string | null;
  delay_seconds: number;
  priority: number;
  max_attempts: number;
  payload: string;
}

const statement = planned('relay/find', row<Found>());

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

/** Makes the function that finds a job that has not arrived yet. It is told as `scheduled`. */
export const createFind =
  (db: Db) =>
  async (id: string): Promise<Job | undefined> => {
    const [found] = await db.query(statement, { id });
    if (!found) return undefined;
    const { moved, delay_seconds, ...job } = found;
    if (moved !== null) return movedJob(id, job.queue, moved);
    return {
      ...UNCLAIMED,
      ...job,
      id,
      max_attempts: job.max_attempts === AS_QUEUE_SAYS ? ATTEMPTS : job.max_attempts,
      run_at: dueAt(job.created_at, job.run_at, delay_seconds),
    };
  };
