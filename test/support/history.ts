/** One lease, as a claim answered it. Times are in milliseconds. */
export interface Lease {
  job: string;
  token: string;
  deliveries: number;
  start: number;
  /** When the worker certainly had the job. */
  taken: number;
  /** Until when the lease certainly ran. A call that settles or extends it may have ended it as soon as it was sent. */
  until: number;
  /** When it ran out, unless an extend without an answer made it longer. */
  ends: number;
  /** The tag of the payload that it came with. */
  tag?: number;
  settled?: { verb: SettleVerb; sent: number; outcome: Outcome; answered?: number };
}

export type SettleVerb = 'ack' | 'nack' | 'release';

/** `unknown`: there was no answer. The call may have been carried out or not. */
export type Outcome = 'done' | 'refused' | 'unknown';

interface ClaimedJob {
  id: string;
  lease_token: string;
  deliveries: number;
  lease_expires_at: string;
}

/** Answered times are cut to milliseconds, and the clocks of the tests and of the database differ a little. */
export const TOLERANCE_MS = 5;

/**
 * Records what producers and workers saw, and finds violations. It reports certain ones only.
 */
export function recordHistory() {
  const enqueued = new Set<string>();
  const cancelled = new Set<string>();
  const leases = new Map<string, Lease[]>();

  return {
    enqueued(id: string): void {
      enqueued.add(id);
    },

    cancelled(id: string): void {
      cancelled.add(id);
    },

    /**
     * A claim answered this job, at `answered`. The database computes the end of a lease from the time of its statement,
     * and leases the job a little later.
     */
    leased(job: ClaimedJob, leaseSeconds: number, answered?: number): Lease {
      const until = Date.parse(job.lease_expires_at);
      const start = until - leaseSeconds * 1000;
      const lease: Lease = {
        job: job.id,
        token: job.lease_token,
        deliveries: job.deliveries,
        start,
        taken: answered ?? start,
        until,
        ends: until,
      };
      leases.set(job.id, [...(leases.get(job.id) ?? []), lease]);
      return lease;
    },

    /** An extend was sent. `expires` is the end of the lease that it answered. */
    extended(lease: Lease, sent: number, outcome: Outcome, expires?: string): void {
      if (outcome === 'done' && expires) lease.ends = lease.until = Date.parse(expires);
      else if (outcome === 'unknown') lease.until = Math.min(lease.until, sent);
    },

    settled(lease: Lease, verb: SettleVerb, sent: number, outcome: Outcome, answered?: number): void {
      lease.settled = { verb, sent, outcome, answered };
      if (outcome !== 'refused') lease.until = Math.min(lease.until, sent);
    },

    leases: () => [...leases.values()].flat(),

    /** Every violation, in words. `remaining` are the jobs that still exist in the end. */
    violations(remaining: Set<string>): string[] {
      const found: string[] = [];
      for (const [job, all] of leases) found.push(...ofOneJob(job, all));
      for (const id of enqueued)
        if (!remaining.has(id) && !cancelled.has(id) && !mayBeDone(leases.get(id)))
          found.push(`job ${id} is lost: it is gone, and no ack was answered`);
      for (const [job, all] of leases)
        if (remaining.has(job) && all.some((lease) => isDone(lease, 'ack')))
          found.push(`job ${job} is still there after its ack`);
      return found;
    },
  };
}

export type History = ReturnType<typeof recordHistory>;

const isDone = (lease: Lease, verb: SettleVerb) =>
  lease.settled?.verb === verb && lease.settled.outcome === 'done';

const mayBeDone = (leases: Lease[] = []) =>
  leases.some(({ settled }) => settled?.verb === 'ack' && settled.outcome !== 'refused');

function ofOneJob(job: string, leases: Lease[]): string[] {
  const found: string[] = [];
  const inOrder = leases.toSorted((a, b) => a.deliveries - b.deliveries);
  for (const [i, lease] of inOrder.entries()) {
    const next = inOrder[i + 1];
    if (!next) continue;
    const pair = `job ${job}, deliveries ${lease.deliveries} and ${next.deliveries}`;
    if (next.deliveries === lease.deliveries) found.push(`${pair}: the number did not grow`);
    if (next.taken < lease.start - TOLERANCE_MS) found.push(`${pair}: the later number was used earlier`);
    if (next.taken < lease.until - TOLERANCE_MS) found.push(`${pair}: two leases ran at once`);
    if (isDone(lease, 'ack')) found.push(`${pair}: delivered, though its ack was answered before`);
    if (lease.settled?.outcome === 'done' && lease.settled.sent > next.taken + TOLERANCE_MS)
      found.push(`${pair}: the first one settled after the second one had begun`);
  }
  return found;
}
