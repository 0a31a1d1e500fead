import type { JobState } from '../job.ts';
import type { Explanation } from '../verbs/jobs.ts';
import { IMPORTING } from './explainQueue.ts';

/*
 * Why a job is not running: the sentence for each reason, and which reason it is.
 */

type Reason = Omit<Explanation, 'id' | 'state'>;

/**
 * The jobs that go before a job are counted up to this number, and of up to this number of other fairness keys. So the
 * count takes some milliseconds, however long the queue is.
 */
export const MOST_AHEAD = 10_000;
export const MOST_KEYS = 1000;

/** What sql/looking/explain_job.sql finds. */
export interface JobFacts {
  id: string;
  state: JobState;
  attempt: number;
  max_attempts: number;
  run_at: string;
  lease_expires_at: string | null;
  /** The lease ran out, and was not taken back yet. */
  lease_is_over: boolean | null;
  finished_at: string | null;
  worker: string | null;
  last_error: string | null;
  moved_to: string | null;
  cancel_requested: boolean;
  group: string | null;
  fairness_key: string | null;
  expires_at: string | null;
  /** Whether `expires_at` was over when the job finished, or is over now. */
  is_over: boolean | null;
  paused: boolean;
  is_importing: boolean;
  /** Null: it has no group. */
  group_paused: boolean | null;
  /** How many heads of its group it waits for, and the first of them. */
  heads: number;
  head_id: string | null;
  head_state: JobState | null;
  ahead: number;
  /** There may be more than `ahead`. */
  is_least: boolean;
}

const jobs = (count: number, isLeast: boolean) =>
  `${isLeast ? 'at least ' : ''}${count} ${count === 1 ? 'job' : 'jobs'}`;
const go = (count: number) => (count === 1 ? 'goes' : 'go');

const errorOf = ({ last_error }: JobFacts) => (last_error === null ? {} : { last_error });

function leased(facts: JobFacts): Reason {
  const { worker, attempt, max_attempts, cancel_requested } = facts;
  const until = facts.lease_expires_at as string;
  const who = worker === null ? 'a worker that gave no name' : `worker ${JSON.stringify(worker)}`;
  const asked = cancel_requested ? ' It was asked to stop.' : '';
  const runs = `It is running: ${who} has it until ${until}, attempt ${attempt} of ${max_attempts}.${asked}`;
  const isOver =
    `The lease of ${who} ran out at ${until}, attempt ${attempt} of ${max_attempts}. ` +
    'Unless it is extended, it is taken back within a second, or RESCUE_GRACE_SECONDS after an outage.';
  return {
    code: 'leased',
    detail: facts.lease_is_over ? isOver : runs,
    until,
    ...(worker === null ? {} : { worker }),
  };
}

function scheduled(facts: JobFacts): Reason {
  const { attempt, max_attempts, run_at: until } = facts;
  if (attempt === 0) return { code: 'delayed', detail: `It is delayed until ${until}.`, until };
  const detail = `It rests until ${until}, after attempt ${attempt} of ${max_attempts}.`;
  return { code: 'backing_off', detail, until, ...errorOf(facts) };
}

const HEADS: Partial<Record<JobState, string>> = {
  ready: 'is ready',
  leased: 'is with a worker',
  scheduled: 'waits for its run_at',
};

/** A job that is blocked, or ready behind a head of its group that is less urgent, or of another fairness key. */
function behindInGroup(facts: JobFacts): Reason {
  const { state, group, heads, head_id, head_state } = facts;
  const isBlocked = state === 'blocked';
  const ahead = isBlocked ? facts.ahead + heads : heads;
  const is_least = isBlocked && facts.is_least;
  const name = JSON.stringify(group);
  if (head_id === null)
    return { code: 'behind_in_group', detail: `Its group ${name} gets its next head at this moment.`, ahead };
  const ofHeads = heads === 1 ? 'the head of the group' : `the first of the ${heads} heads of the group`;
  const which = isBlocked ? ofHeads : 'the first of them';
  const head = `Job ${head_id} is ${which} and ${HEADS[head_state as JobState]}.`;
  const detail = `In its group ${name}, ${jobs(ahead, is_least)} ${go(ahead)} before it. ${head}`;
  return { code: 'behind_in_group', detail, ahead, blocking_job_id: head_id };
}

function ready({ ahead, is_least }: JobFacts): Reason {
  const next = 'It is the next job: the next claim from the queue gets it.';
  const detail =
    ahead === 0
      ? next
      : `It can be claimed, but ${jobs(ahead, is_least)} of the queue ${go(ahead)} before it.`;
  return { code: 'next_in_line', detail, ahead };
}

function dead(facts: JobFacts): Reason {
  const { attempt, max_attempts, last_error, finished_at, is_over } = facts;
  // A worker may nack with the error "expired", too. But Dibs lets a job expire only while it has attempts left.
  const expired = last_error === 'expired' && is_over && attempt < max_attempts;
  const why = expired
    ? 'it expired before a worker was done with it'
    : attempt >= max_attempts
      ? `its ${max_attempts === 1 ? 'only attempt' : `${max_attempts} attempts`} failed`
      : 'its worker gave it up (nack without a retry)';
  return {
    code: 'dead',
    detail: `It has been dead since ${finished_at}: ${why}. A retry or a redrive makes it ready again.`,
    ...errorOf(facts),
  };
}

/** The reason, but for the claim limits of the queue: claimLimits.ts looks at those. */
export function reasonOf(facts: JobFacts): Reason {
  const { state, finished_at, expires_at, moved_to } = facts;
  if (state === 'completed') return { code: 'completed', detail: `It was completed at ${finished_at}.` };
  if (moved_to !== null)
    return {
      code: 'cancelled',
      detail: `It was dead at ${finished_at}, and went to the dead letter queue as the job ${moved_to}.`,
      ...errorOf(facts),
    };
  if (state === 'cancelled') return { code: 'cancelled', detail: `It was cancelled at ${finished_at}.` };
  if (state === 'dead') return dead(facts);
  if (state === 'leased') return leased(facts);
  if (facts.is_over)
    return {
      code: 'dead',
      detail: `It expired at ${expires_at}, and will be dead soon.`,
      last_error: 'expired',
    };
  if (facts.is_importing) return { code: 'queue_paused', detail: IMPORTING };
  if (facts.paused)
    return { code: 'queue_paused', detail: 'Its queue is paused. Claims get no jobs until it is resumed.' };
  if (state === 'scheduled') return scheduled(facts);
  if (facts.group_paused) {
    const group = JSON.stringify(facts.group);
    return {
      code: 'group_paused',
      detail: `Its group ${group} is paused. Claims get none of its jobs until it is resumed.`,
    };
  }
  return state === 'blocked' || facts.heads > 0 ? behindInGroup(facts) : ready(facts);
}
