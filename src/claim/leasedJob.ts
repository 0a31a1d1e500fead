import type { JobRow } from '../job.ts';
import type { Queue, Queues } from '../queues/cache.ts';
import type { LeasedJob } from '../verbs/claims.ts';

/** What is the same for every lease: statements do not return it. */
const LEASED = { state: 'leased', finished_at: null, result: null } as const;

/** A job as claiming statements return it: with its place among the slots, and in the order of arrival. */
export interface LeasedRow extends Omit<JobRow, keyof typeof LEASED | 'awaited'> {
  slot: number;
  position: number;
  payload: string;
  lease_token: string;
  lease_expires_at: string;
}

/** As sql/claim/fair.sql returns it: `cut` when there may be more jobs, `ms` is the time that the statement took. */
export interface FairRow extends LeasedRow {
  cut: boolean;
  ms: number;
}

/** As sql/claim/front.sql returns it: the first ready job with a key, and whether the scan came to the end of the queue. */
export interface FrontRow extends LeasedRow {
  first_rank: number | null;
  first_position: number | null;
  holds_all: boolean;
  ms: number;
}

/** A row of any claiming statement. */
export type ClaimedRow = LeasedRow & Partial<Omit<FairRow & FrontRow, keyof LeasedRow>>;

/** What a statement leased to each claim. */
export interface Leases {
  jobs: LeasedJob[][];
  /** True when there was only room for small jobs. */
  scarce?: boolean;
  /** True when the queue may hold more jobs, although the statement leased fewer than it was asked for. */
  cut: boolean;
  /** The time until the rate limit of the queue allows another job. None when it allows one now. */
  opensInMs?: number | undefined;
}

/** A lease that a repeat of its claim finds. */
export interface RepeatedRow extends Omit<LeasedRow, 'slot'> {
  lease_seconds: number;
}

/** Makes a lease of its row, in place. */
export const toLease = (
  row: Omit<LeasedRow, 'slot'>,
  queue: Pick<Queue, 'name' | 'lease_seconds'>,
  lease_seconds = queue.lease_seconds,
): LeasedJob => Object.assign(row, LEASED, { queue: queue.name, lease_seconds });

/** Makes leases of the rows of several queues. They come in the order of these queues, and of each queue. */
export async function toLeases(rows: RepeatedRow[], names: string[], queues: Queues): Promise<LeasedJob[]> {
  const leases: { job: LeasedJob; place: number; position: number }[] = [];
  for (const row of rows) {
    const queue = await queues.ofJob(row.id);
    const job = toLease(row, queue, row.lease_seconds);
    leases.push({ place: names.indexOf(queue.name), position: row.position, job });
  }
  leases.sort((a, b) => a.place - b.place || b.job.priority - a.job.priority || a.position - b.position);
  return leases.map(({ job }) => job);
}
