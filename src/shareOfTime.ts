/**
 * The budget of background work: the share of the time that each kind may take on a replica. A kind that has little to do takes
 * less. Beside a steady load, all of it together takes less than a quarter of one connection, except the bulk work: that is what
 * somebody waits for (leases that ran out, jobs that are due, purges, operations).
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
} as const;

/** How long to rest after work that took this long, so that the work takes its share of the time. */
export function restAfter(workMs: number, share: keyof typeof SHARES | number): number {
  return workMs * (1 / (typeof share === 'number' ? share : SHARES[share]) - 1);
}
