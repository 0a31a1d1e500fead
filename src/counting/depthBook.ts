import { JOB_STATES } from '../job.ts';
import { type JobCounts, jobsIn } from './countJobs.ts';

/*
 * The last count of every queue that has jobs or is paused, on this replica. A queue stands in it once, whether it has
 * a row in dibs.totals or not. So the metrics show its jobs exactly once: under its name, or under `(other)`.
 */

export interface Depth {
  counts: JobCounts;
  oldestReadySeconds: number | null;
  /** When it was counted, on the clock of this process. */
  at: number;
}

/** A queue, as far as it shows whether something is wrong. */
export interface QueueFacts {
  id: number;
  name: string;
  paused: boolean;
  max_leased: number | null;
  max_ready: number | null;
  alert_after_seconds: number;
}

/** For how long the oldest ready job of a queue has waited, and after how long that is an alert. */
export interface Wait {
  seconds: number;
  alertAfterSeconds: number;
}

/** A queue as it was counted last. */
export interface Found extends QueueFacts {
  depth: Depth;
  jobs: number;
}

const older = (a: number | null, b: number | null) => (a === null ? b : b === null ? a : Math.max(a, b));

const nearerToAlert = (a: Wait | undefined, b: Wait) =>
  a && a.seconds / a.alertAfterSeconds > b.seconds / b.alertAfterSeconds ? a : b;

const zeros = () => Object.fromEntries(JOB_STATES.map((state) => [state, 0])) as JobCounts;

function add(sum: JobCounts, counts: JobCounts | undefined, sign: 1 | -1 = 1): void {
  if (counts) for (const state of JOB_STATES) sum[state] += sign * counts[state];
}

/** Several depths together. */
export function sumOf(depths: Depth[]): Depth {
  const sum: Depth = { counts: zeros(), oldestReadySeconds: null, at: performance.now() };
  for (const { counts, oldestReadySeconds } of depths) {
    add(sum.counts, counts);
    sum.oldestReadySeconds = older(sum.oldestReadySeconds, oldestReadySeconds);
  }
  return sum;
}

/** `rowIds`: the queues that have a row in dibs.totals now. */
export function createDepthBook({ hasRow, rowIds }: { hasRow(id: number): boolean; rowIds(): number[] }) {
  const found = new Map<number, Found & { seenAt: number }>();
  /** The sum of `found`, kept up to date: a scrape must not add up a million queues. */
  const all = zeros();
  let oldestOther: number | null = null;
  let oldestOfWalk: number | null = null;
  let waitOther: Wait | undefined;
  let waitOfWalk: Wait | undefined;
  let walkBegan: number | undefined;

  function remove(id: number): void {
    const before = found.get(id);
    if (before) add(all, before.depth.counts, -1);
    found.delete(id);
  }

  return {
    /** Notes the depth of a queue that was looked at `seenAt`. Its count may be older. */
    set(queue: QueueFacts, depth: Depth, seenAt: number): void {
      const { id, paused, alert_after_seconds: alertAfterSeconds } = queue;
      remove(id);
      const jobs = jobsIn(depth.counts);
      const isOwn = hasRow(id);
      const seconds = depth.oldestReadySeconds;
      if (!isOwn) {
        oldestOfWalk = older(oldestOfWalk, seconds);
        if (!paused && seconds !== null)
          waitOfWalk = nearerToAlert(waitOfWalk, { seconds, alertAfterSeconds });
      }
      if (jobs === 0 && !paused && !isOwn) return;
      found.set(id, { ...queue, depth, jobs, seenAt });
      add(all, depth.counts);
    },

    /** A queue is still there. Its count stays as it is. */
    keep(id: number, seenAt: number): void {
      const known = found.get(id);
      if (known) known.seenAt = seenAt;
    },

    of: (id: number): Depth | undefined => found.get(id)?.depth,

    /** All queues were looked at since `began`. Those that were not seen are gone. */
    walked(began: number): void {
      walkBegan = began;
      oldestOther = oldestOfWalk;
      oldestOfWalk = null;
      waitOther = waitOfWalk;
      waitOfWalk = undefined;
      for (const [id, { seenAt }] of found) if (seenAt < began) remove(id);
    },

    /** The queues without a row, one by one. Undefined until all queues were looked at once. */
    others: (): Found[] | undefined =>
      walkBegan === undefined
        ? undefined
        : [...found.values()].filter(({ id, jobs, paused }) => !hasRow(id) && (jobs > 0 || paused)),

    /** Of the queues without a row: the one that is nearest to its alert, or farthest beyond. Paused ones do not count. */
    waitOfOthers: (): Wait | undefined => waitOther,

    /** The queues without a row together. Undefined until all queues were looked at once. */
    sumOfOthers(): Depth | undefined {
      if (walkBegan === undefined) return undefined;
      const counts = { ...all };
      for (const id of rowIds()) add(counts, found.get(id)?.depth.counts, -1);
      return { counts, oldestReadySeconds: oldestOther, at: walkBegan };
    },
  };
}

export type DepthBook = ReturnType<typeof createDepthBook>;
