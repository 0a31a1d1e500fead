/**
 * The budget of background work: the share of the time that each kind may take on a replica. A kind that has little to do takes
 * less. Beside a steady load, all of it together takes less than a quarter of one connection, except what somebody waits for: the bulk
 * work (leases that ran out, jobs that are due, purges, operations), and renewed counts.
 */
const SHARES = {
  /** Chunks of bulk work, while claims are served here. */
  'bulk work': 1 / 2,
  /** Pages of groups, looked through for groups without a head. */
  groups: 1 / 20,
  /** The same, where heads are missing: a replica may have died. */
  'lost heads': 1 / 4,
  /** Patrols below the scan floors. */
  patrols: 1 / 160,
  /** The same, while something hints at jobs there. */
  'hinted patrols': 1 / 40,
  /** Looks for what is due while a replica dozes. */
  'due looks': 1 / 50,
  /** Looks of a sweep at all jobs, not only at those behind its horizon. There are seven kinds of sweeps. */
  'full scans': 1 / 200,
  /** Looks of the pruning of jobs at all finished jobs. */
  'whole prunes': 1 / 200,
  /** Adding up which jobs of batches have ended. */
  batches: 1 / 10,
  /** Adding to the totals, and reading them. While an old transaction keeps the dead versions of rows, each change takes longer. */
  totals: 1 / 20,
  /** Counts of jobs for the metrics, the overview and the samples. */
  counts: 1 / 50,
  /** Counts that read index entries of jobs that are gone. */
  'whole counts': 1 / 200,
  /** Counts of jobs that have not arrived yet in other databases. */
  'relay counts': 1 / 50,
  /** Counts of large queues for looks at queues, renewed while the old ones serve. */
  'renewed counts': 1 / 10,
} as const;

/** How long to rest after work that took this long, so that the work takes its share of the time. */
export function restAfter(workMs: number, kind: keyof typeof SHARES): number {
  return workMs * (1 / SHARES[kind] - 1);
}
