import { hasClaimLimit } from '../claim/limits.ts';
import type { JobState } from '../job.ts';
import type { Db } from '../postgres/pool.ts';
import { planned, row } from '../postgres/statements.ts';
import type { Queue } from '../queues/cache.ts';
import { claimLimitReached } from './claimLimits.ts';

const statement = planned('admin/explain_job', row<Facts>());

/** What goes before a job is counted so far: 100,000 take some 50 ms. */
const MOST_AHEAD = 100_000;

export const EXPLAIN_CODES = [
  'next_in_line',
  'delayed',
  'backing_off',
  'behind_in_group',
  'queue_paused',
  'max_leased_reached',
  'rate_limited',
  'leased',
  'dead',
  'completed',
  'cancelled',
] as const;

/** The one reason why a job is not running. */
export interface Explanation {
  id: string;
  state: JobState;
  code: (typeof EXPLAIN_CODES)[number];
  /** The same in a sentence or two. */
  detail: string;
  /** How many jobs go before it. */
  ahead?: number;
  /** When the reason is over, as far as anybody can tell. */
  until?: string;
  blocking_job_id?: string;
  worker?: string;
  last_error?: string;
}

type Reason = Omit<Explanation, 'id' | 'state'>;

interface Facts {
  id: string;
  state: JobState;
  attempt: number;
  max_attempts: number;
  run_at: string;
  lease_expires_at: string | null;
  finished_at: string | null;
  worker: string | null;
  last_error: string | null;
  cancel_requested: boolean;
  group: string | null;
  fairness_key: string | null;
  expires_at: string | null;
  /** It has expired. */
  is_over: boolean | null;
  paused: boolean;
  /** The job that holds its group. */
  head_id: string | null;
  head_state: JobState | null;
  ahead: number;
}

const jobs = (count: number) =>
  `${count >= MOST_AHEAD ? 'at least ' : ''}${count} ${count === 1 ? 'job' : 'jobs'}`;

const errorOf = ({ last_error }: Facts) => (last_error === null ? {} : { last_error });

function leased(facts: Facts): Reason {
  const { worker, attempt, max_attempts, cancel_requested } = facts;
  const until = facts.lease_expires_at as string;
  const who = worker === null ? 'a worker that gave no name' : `worker ${JSON.stringify(worker)}`;
  const asked = cancel_requested ? ' It was asked to stop.' : '';
  return {
    code: 'leased',
    detail: `It is running: ${who} has it until ${until}, attempt ${attempt} of ${max_attempts}.${asked}`,
    until,
    ...(worker === null ? {} : { worker }),
  };
}

function scheduled(facts: Facts): Reason {
  const { attempt, max_attempts, run_at: until } = facts;
  if (attempt === 0) return { code: 'delayed', detail: `It is delayed until ${until}.`, until };
  const detail = `It rests until ${until}, after attempt ${attempt} of ${max_attempts}.`;
  return { code: 'backing_off', detail, until, ...errorOf(facts) };
}

const HEADS: Partial<Record<JobState, string>> = {
  ready: 'which is ready',
  leased: 'which is with a worker',
  scheduled: 'which rests before its next attempt',
};

function blocked({ group, head_id, head_state, ahead: waiting }: Facts): Reason {
  const ahead = waiting + (head_id === null ? 0 : 1);
  const name = JSON.stringify(group);
  if (head_id === null)
    return { code: 'behind_in_group', detail: `The turn in its group ${name} is being passed on.`, ahead };
  const holder = `job ${head_id} has the turn, ${HEADS[head_state as JobState]}`;
  const detail = `In its group ${name}, ${jobs(ahead)} ${ahead === 1 ? 'goes' : 'go'} before it; ${holder}.`;
  return { code: 'behind_in_group', detail, ahead, blocking_job_id: head_id };
}

function ready({ ahead, fairness_key }: Facts): Reason {
  const next =
    fairness_key === null
      ? 'It is the next: whoever claims from the queue is given it.'
      : 'It is the next of its fairness key: whoever claims from the queue when the key has its turn is given it.';
  const detail =
    ahead === 0
      ? next
      : `It can be claimed, but ${jobs(ahead)} of the queue ${ahead === 1 ? 'goes' : 'go'} before it.`;
  return { code: 'next_in_line', detail, ahead };
}

function dead(facts: Facts): Reason {
  const { attempt, max_attempts, last_error, finished_at } = facts;
  const why =
    last_error === 'expired'
      ? 'it expired before a worker was done with it'
      : attempt >= max_attempts
        ? `its ${max_attempts === 1 ? 'only attempt' : `${max_attempts} attempts`} failed`
        : 'its worker refused it for good';
  return {
    code: 'dead',
    detail: `It is dead since ${finished_at}: ${why}. A retry or a redrive makes it ready again.`,
    ...errorOf(facts),
  };
}

function reasonOf(facts: Facts): Reason {
  const { state, finished_at, expires_at } = facts;
  if (state === 'completed') return { code: 'completed', detail: `It was completed at ${finished_at}.` };
  if (state === 'cancelled') return { code: 'cancelled', detail: `It was cancelled at ${finished_at}.` };
  if (state === 'dead') return dead(facts);
  if (state === 'leased') return leased(facts);
  if (facts.is_over)
    return {
      code: 'dead',
      detail: `It expired at ${expires_at}, and is about to be dead.`,
      last_error: 'expired',
    };
  if (facts.paused)
    return {
      code: 'queue_paused',
      detail: 'Its queue is paused, and hands out no jobs until it is resumed.',
    };
  if (state === 'scheduled') return scheduled(facts);
  return state === 'blocked' ? blocked(facts) : ready(facts);
}

/** Why a job is not running; undefined when there is no such job. */
export async function explain(db: Db, queue: Queue, id: string): Promise<Explanation | undefined> {
  const [facts] = await db.query(statement, { queue_id: queue.id, id, max_ahead: MOST_AHEAD });
  if (!facts) return undefined;
  const reason = reasonOf(facts);
  const limit =
    reason.code === 'next_in_line' && hasClaimLimit(queue) ? await claimLimitReached(db, queue) : undefined;
  return { id: facts.id, state: facts.state, ...(limit ?? reason) };
}
