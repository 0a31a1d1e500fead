import type { Lease } from './history.ts';

/** What a producer asks for. */
export interface Spec {
  queue: string;
  payload: { tag: number };
  max_attempts: number;
  priority?: number;
  delay_seconds?: number;
  group?: string;
  unique_key?: string;
  unique_for_seconds?: number;
  fairness_key?: string;
  expires_in_seconds?: number;
}

/** A job that somebody wanted, whether it came to be or not. Times are those of the tests, in milliseconds. */
export interface Intent {
  spec: Spec;
  /** Which request it was in, and where: those of one request arrive in this order. */
  request: number;
  index: number;
  /** When it was sent first. */
  sent: number;
  outcome: 'unknown' | 'done' | 'refused' | 'deduplicated';
  /** When its outcome was known. */
  answered: number;
  /** With `deduplicated`: the job that was there. */
  named?: string;
  /** The jobs that were ever seen of it. */
  jobs: Set<string>;
}

/** A job, from what was seen of it. */
export interface Life {
  id: string;
  intent: Intent;
  /** When the database says that it was enqueued. */
  created: number;
  leases: Lease[];
  cancels: { sent: number; answered: number; status: number | undefined }[];
  /** A nack without a retry was not refused; when it was answered, if it was. */
  buried?: { sent: number; answered: number };
  /** When somebody first asked to retry it. */
  retried: number;
  /** What is found of it in the end. */
  found?: { state: string; finished: number; deliveries: number; last_error: string | null };
}

/** What was done to whole queues. */
export interface Sweeps {
  redrives: { queue: string; answered: number }[];
  purges: { queue: string; answered: number }[];
}

export const isDelayed = (spec: Spec) => (spec.delay_seconds ?? 0) > 0;

/** From when on it was there for certain. */
export const bornBy = ({ intent, leases }: Life): number =>
  Math.min(
    intent.outcome === 'done' ? intent.answered : Number.POSITIVE_INFINITY,
    ...leases.map((lease) => lease.taken),
  );

const deliveriesOf = ({ leases, found }: Life) =>
  Math.max(found?.deliveries ?? 0, ...leases.map((lease) => lease.deliveries));

/** Whether it may have been dead at some time, seen or unseen. */
export const mayHaveDied = (life: Life): boolean =>
  life.buried !== undefined ||
  life.intent.spec.expires_in_seconds !== undefined ||
  deliveriesOf(life) >= life.intent.spec.max_attempts;

/** Settled after its lease had run out: it may have been dead already. */
const isLate = ({ settled, until }: Lease) =>
  settled !== undefined && settled.outcome !== 'refused' && settled.sent > until;

/** Whether it may have come back after it was dead: retried, redriven, or given back by a worker that came late. */
export const mayBeRevived = (life: Life, { redrives }: Sweeps): boolean =>
  mayHaveDied(life) &&
  (life.retried < Number.POSITIVE_INFINITY ||
    life.leases.some((lease) => isLate(lease) && lease.settled?.verb !== 'ack') ||
    redrives.some(
      (redrive) => redrive.queue === life.intent.spec.queue && redrive.answered > life.intent.sent,
    ));

/** The last moment at which it was unfinished for certain; only for one that can't have been revived. */
export function unfinishedUntil(life: Life): number {
  const { found, leases } = life;
  const seen = Math.max(Number.NEGATIVE_INFINITY, ...leases.map((lease) => lease.until));
  const endedTwice = leases.some(isLate) || (found?.state === 'cancelled' && mayHaveDied(life));
  return found && !endedTwice ? Math.max(seen, found.finished) : seen;
}

/** From when on it was finished for certain, and for good. */
export function finishedBy(life: Life, sweeps: Sweeps): number {
  const acks = life.leases.flatMap(({ settled }) =>
    settled?.verb === 'ack' && settled.outcome === 'done'
      ? [settled.answered ?? Number.POSITIVE_INFINITY]
      : [],
  );
  const cancels = life.cancels.filter(({ status }) => status === 200).map(({ answered }) => answered);
  const burials = life.buried && !mayBeRevived(life, sweeps) ? [life.buried.answered] : [];
  return Math.min(Number.POSITIVE_INFINITY, ...acks, ...cancels, ...burials);
}
