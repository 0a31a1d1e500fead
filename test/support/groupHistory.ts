import type { Lease } from './history.ts';

interface Arrival {
  id: string;
  /** It arrived between these, in milliseconds. A delayed job arrives at some time after its delay. */
  earliest: number;
  latest: number;
}

interface GroupLease {
  job: string;
  lease: Lease;
  /** When the worker certainly had the job. The lease began between its `start` and this. */
  answered: number;
  mayDie: boolean;
}

interface GroupHistory {
  arrivals: Map<string, Arrival>;
  leases: GroupLease[];
}

interface GroupedJob {
  id: string;
  queue: string;
  group: string | null;
}

/** Answered times are cut to milliseconds. */
const TOLERANCE_MS = 2;

/**
 * Records in which order jobs of groups arrive and are claimed, and finds violations. It reports certain ones only: one
 * event comes before another when its end was seen before the beginning of the other.
 */
export function recordGroups() {
  const groups = new Map<string, GroupHistory>();
  const mortal = new Set<string>();
  const retried = new Set<string>();
  const lost: number[] = [];

  function historyOf({ queue, group }: GroupedJob): GroupHistory {
    const key = `${queue} ${group}`;
    const found = groups.get(key) ?? { arrivals: new Map(), leases: [] };
    groups.set(key, found);
    return found;
  }

  return {
    /** An enqueue was answered with this job. */
    enqueued(job: GroupedJob & { state: string; run_at: string }, sent: number, answered: number): void {
      if (job.group === null) return;
      const delayed = job.state === 'scheduled';
      historyOf(job).arrivals.set(job.id, {
        id: job.id,
        earliest: delayed ? Date.parse(job.run_at) : sent,
        latest: delayed ? Number.POSITIVE_INFINITY : answered,
      });
    },

    leased(job: GroupedJob & { max_attempts: number }, lease: Lease): void {
      if (job.group === null) return;
      const mayDie = job.max_attempts < 1000;
      historyOf(job).leases.push({ job: job.id, lease, answered: Date.now(), mayDie });
    },

    /** A claim got no answer. A job that it leased may have died of that, and may then have come back behind others. */
    lostClaim(): void {
      lost.push(Date.now());
    },

    /** The job may have been dead, and may then come back behind others. */
    mayDie(id: string): void {
      mortal.add(id);
    },

    /** The job was retried: it may have arrived before its delay was over, or come back behind others. */
    retried(id: string): void {
      mortal.add(id);
      retried.add(id);
    },

    /** How many leases were given to jobs of groups. */
    leases: () => [...groups.values()].reduce((sum, { leases }) => sum + leases.length, 0),

    /** Every violation, in words. */
    violations(): string[] {
      return [...groups].flatMap(([name, { arrivals, leases }]) => {
        const byJob = new Map<string, GroupLease[]>();
        const inOrder = leases.toSorted((a, b) => a.lease.start - b.lease.start);
        for (const one of inOrder) {
          if (mortal.has(one.job)) one.mayDie = true;
          byJob.set(one.job, [...(byJob.get(one.job) ?? []), one]);
        }
        return [
          ...together(inOrder),
          ...between(inOrder, byJob),
          ...overtaken(
            [...arrivals.values()].filter(({ id }) => !retried.has(id)),
            byJob,
            lost,
          ),
        ].map((violation) => `group ${name}: ${violation}`);
      });
    },
  };
}

const before = (a: GroupLease, b: GroupLease) => a.answered < b.lease.start - TOLERANCE_MS;

/** Leases of two jobs that certainly ran at the same moment. */
function together(leases: GroupLease[]): string[] {
  const found: string[] = [];
  for (const [i, a] of leases.entries())
    for (const b of leases.slice(i + 1)) {
      if (b.lease.start > a.lease.until) break;
      const both = Math.min(a.lease.until, b.lease.until) - Math.max(a.answered, b.answered);
      if (a.job !== b.job && both > TOLERANCE_MS)
        found.push(`jobs ${a.job} and ${b.job} were leased at once`);
    }
  return found;
}

/** Jobs that were claimed between two leases of a job that was the head of the group all the time. */
function between(leases: GroupLease[], byJob: Map<string, GroupLease[]>): string[] {
  const found: string[] = [];
  for (const [job, own] of byJob) {
    const first = own[0] as GroupLease;
    const last = own.at(-1) as GroupLease;
    if (first.mayDie || first === last) continue;
    for (const other of leases)
      if (other.job !== job && before(first, other) && before(other, last))
        found.push(`job ${other.job} was claimed while job ${job} was the head of the group`);
  }
  return found;
}

/** Jobs that were claimed before an earlier job, or between its leases. */
function overtaken(arrivals: Arrival[], byJob: Map<string, GroupLease[]>, lost: number[]): string[] {
  const found: string[] = [];
  for (const early of arrivals) {
    const own = byJob.get(early.id);
    if (!own) continue;
    const first = own[0] as GroupLease;
    if (first.mayDie && lost.some((at) => early.earliest <= at && at <= first.answered)) continue;
    const until = first.mayDie ? first : (own.at(-1) as GroupLease);
    for (const late of arrivals) {
      const [claimed] = byJob.get(late.id) ?? [];
      if (claimed && early.latest < late.earliest - TOLERANCE_MS && before(claimed, until))
        found.push(`job ${late.id} was claimed before job ${early.id}, which had come before it`);
    }
  }
  return found;
}
