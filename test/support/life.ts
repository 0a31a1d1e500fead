import type { Lease } from './history.ts';

/** A job as a producer sends it. */
export interface Spec {
  queue: string;
  payload: { tag: number };
  max_attempts: number;
  priority?: number;
  delay_seconds?: number;
  group?: string;
  unique_key?: string;
  unique_for_seconds?: number;
  on_duplicate?: 'replace';
  fairness_key?: string;
  expires_in_seconds?: number;
  /** The batch that it is in. Of a job that comes with its batch, it is known once that is answered. */
  batch?: string;
}

/** A job that an actor sent, enqueued or not. Times are those of the tests, in milliseconds. */
export interface Intent {
  spec: Spec;
  /** Its request and its place in it. The jobs of one request arrive in this order. */
  request: number;
  index: number;
  /** When it was sent for the first time. */
  sent: number;
  outcome: 'unknown' | 'done' | 'refused' | 'deduplicated';
  /** When its outcome was known. */
  answered: number;
  /** With `deduplicated`: the job that the answer named, and whether it got what this one sent. */
  named?: string;
  /** The answer said that it comes later. Without a delay, it was on its way to another database. */
  isScheduled?: boolean;
  replaced?: boolean;
  /** The jobs that were ever seen of it. */
  jobs: Set<string>;
}

/** A job, with all that was seen of it. */
export interface Life {
  id: string;
  intent: Intent;
  /** When the database says that it was enqueued. */
  created: number;
  leases: Lease[];
  cancels: { sent: number; answered: number; status: number | undefined }[];
  /** A nack with `retry: false` that was not refused, and when it was answered. */
  killed?: { sent: number; answered: number };
  /** When its first retry was sent. */
  retried: number;
  /** The job as it is found in the end. */
  found?: { state: string; finished: number; deliveries: number; last_error: string | null };
}

/** Calls on whole queues. */
export interface Sweeps {
  redrives: { queue: string; answered: number }[];
  purges: { queue: string; answered: number }[];
  /** Dead letters of these queues went back to the queue that they came from. */
  homes: { queue: string; answered: number }[];
}

export const isDelayed = ({ spec, isScheduled }: Intent) =>
  isScheduled === true || (spec.delay_seconds ?? 0) > 0;

/** When it certainly existed. */
export const bornBy = ({ intent, leases }: Life): number =>
  Math.min(
    intent.outcome === 'done' ? intent.answered : Number.POSITIVE_INFINITY,
    ...leases.map((lease) => lease.taken),
  );

const deliveriesOf = ({ leases, found }: Life) =>
  Math.max(found?.deliveries ?? 0, ...leases.map((lease) => lease.deliveries));

/** Whether it may have been dead at some time. */
export const mayHaveDied = (life: Life): boolean =>
  life.killed !== undefined ||
  life.intent.spec.expires_in_seconds !== undefined ||
  deliveriesOf(life) >= life.intent.spec.max_attempts;

/**
 * It may have been settled after its lease had run out, and the job may have been dead by then. A call that is sent in time may
 * wait for a replica or a lock.
 */
const isLate = ({ settled, ends }: Lease) =>
  settled !== undefined &&
  settled.outcome !== 'refused' &&
  (settled.answered ?? Number.POSITIVE_INFINITY) > ends;

/** Whether a claim without an answer leased it. Dibs releases such a lease itself, perhaps after it ran out. */
const hadUnseenLease = (life: Life) => deliveriesOf(life) > life.leases.length;

/** Whether it may have come back after it was dead: by a retry, a redrive, or a late release or nack. */
export const mayHaveComeBack = (life: Life, { redrives }: Sweeps): boolean =>
  mayHaveDied(life) &&
  (life.retried < Number.POSITIVE_INFINITY ||
    hadUnseenLease(life) ||
    life.leases.some((lease) => isLate(lease) && lease.settled?.verb !== 'ack') ||
    redrives.some(
      (redrive) => redrive.queue === life.intent.spec.queue && redrive.answered > life.intent.sent,
    ));

/** The last moment at which it was certainly unfinished. Only for a job that cannot have come back. */
export function unfinishedUntil(life: Life): number {
  const { found, leases } = life;
  const seen = Math.max(Number.NEGATIVE_INFINITY, ...leases.map((lease) => lease.until));
  const endedTwice = leases.some(isLate) || (found?.state === 'cancelled' && mayHaveDied(life));
  return found && !endedTwice ? Math.max(seen, found.finished) : seen;
}

/** When it was certainly finished for good. */
export function finishedBy(life: Life, sweeps: Sweeps): number {
  const acks = life.leases.flatMap(({ settled }) =>
    settled?.verb === 'ack' && settled.outcome === 'done'
      ? [settled.answered ?? Number.POSITIVE_INFINITY]
      : [],
  );
  const cancels = life.cancels.filter(({ status }) => status === 200).map(({ answered }) => answered);
  const kills = life.killed && !mayHaveComeBack(life, sweeps) ? [life.killed.answered] : [];
  return Math.min(Number.POSITIVE_INFINITY, ...acks, ...cancels, ...kills);
}
