import type { Lease } from './history.ts';

interface Arrival {
  id: string;
  /** It came between these, in milliseconds; a delayed job at some time after its delay. */
  earliest: number;
  latest: number;
}

interface Turn {
  job: string;
  lease: Lease;
  /** When the worker had it for certain; the lease began between its `start` and this. */
  answered: number;
  mayDie: boolean;
}

interface GroupHistory {
  arrivals: Map<string, Arrival>;
  turns: Turn[];
}

interface GroupedJob {
  id: string;
  queue: string;
  group: string | null;
}

/** Answered times are cut to milliseconds. */
const TOLERANCE_MS = 2;

/**
 * Records in which order jobs of groups came and were handed out, and finds what must never be. Whatever could be
 * innocent counts as innocent: one thing comes before another only when its end was seen before the other's beginning.
 */
export function recordGroups() {
  const groups = new Map<string, GroupHistory>();
  const mortal = new Set<string>();
  const retried = new Set<string>();

  function historyOf({ queue, group }: GroupedJob): GroupHistory {
    const key = `${queue} ${group}`;
    const found = groups.get(key) ?? { arrivals: new Map(), turns: [] };
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
      const turn = { job: job.id, lease, answered: Date.now(), mayDie: job.max_attempts < 1000 };
      historyOf(job).turns.push(turn);
    },

    /** It may have been made dead, and so may come back behind others. */
    mayDie(id: string): void {
      mortal.add(id);
    },

    /** It was asked to be retried, and so may have come before its delay was over, or come back behind others. */
    retried(id: string): void {
      mortal.add(id);
      retried.add(id);
    },

    /** How many leases were given to jobs of groups. */
    turns: () => [...groups.values()].reduce((sum, { turns }) => sum + turns.length, 0),

    /** Every violation, in words. */
    violations(): string[] {
      return [...groups].flatMap(([name, { arrivals, turns }]) => {
        const byJob = new Map<string, Turn[]>();
        const inOrder = turns.toSorted((a, b) => a.lease.start - b.lease.start);
        for (const turn of inOrder) {
          if (mortal.has(turn.job)) turn.mayDie = true;
          byJob.set(turn.job, [...(byJob.get(turn.job) ?? []), turn]);
        }
        return [
          ...together(inOrder),
          ...between(inOrder, byJob),
          ...overtaken(
            [...arrivals.values()].filter(({ id }) => !retried.has(id)),
            byJob,
          ),
        ].map((violation) => `group ${name}: ${violation}`);
      });
    },
  };
}

const before = (a: Turn, b: Turn) => a.answered < b.lease.start - TOLERANCE_MS;

/** Leases of two jobs that both ran for certain at one moment. */
function together(turns: Turn[]): string[] {
  const found: string[] = [];
  for (const [i, a] of turns.entries())
    for (const b of turns.slice(i + 1)) {
      if (b.lease.start > a.lease.until) break;
      const both = Math.min(a.lease.until, b.lease.until) - Math.max(a.answered, b.answered);
      if (a.job !== b.job && both > TOLERANCE_MS)
        found.push(`jobs ${a.job} and ${b.job} were leased at once`);
    }
  return found;
}

/** Jobs that were handed out between two leases of one that held the group all the time. */
function between(turns: Turn[], byJob: Map<string, Turn[]>): string[] {
  const found: string[] = [];
  for (const [job, own] of byJob) {
    const first = own[0] as Turn;
    const last = own.at(-1) as Turn;
    if (first.mayDie || first === last) continue;
    for (const turn of turns)
      if (turn.job !== job && before(first, turn) && before(turn, last))
        found.push(`job ${turn.job} was handed out while job ${job} held the group`);
  }
  return found;
}

/** Jobs that were handed out before, or between the leases of, one that had come before them. */
function overtaken(arrivals: Arrival[], byJob: Map<string, Turn[]>): string[] {
  const found: string[] = [];
  for (const early of arrivals) {
    const own = byJob.get(early.id);
    if (!own) continue;
    const first = own[0] as Turn;
    const until = first.mayDie ? first : (own.at(-1) as Turn);
    for (const late of arrivals) {
      const [turn] = byJob.get(late.id) ?? [];
      if (turn && early.latest < late.earliest - TOLERANCE_MS && before(turn, until))
        found.push(`job ${late.id} was handed out before job ${early.id}, which had come before it`);
    }
  }
  return found;
}
