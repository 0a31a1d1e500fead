import { type JobRow, sizeOf } from '../job.ts';
import { COPIES, SMALL_BYTES } from '../memory.ts';
import type { Queue, Queues } from '../queues/cache.ts';
import type { LeasedJob } from '../verbs/claims.ts';
import type { Claim } from './claim.ts';

/** Fields that are the same in every lease. So the statements do not return them. */
const LEASED = { state: 'leased', finished_at: null, result: null } as const;

/** A job as claiming statements return it: with its place among the slots, and in the order of arrival. */
export interface LeasedRow extends Omit<JobRow, keyof typeof LEASED | 'awaited'> {
  slot: number;
  position: number;
  payload: string;
  lease_token: string;
  lease_expires_at: string;
}

/**
 * As the statements return it that may leave ready jobs, because of others of their groups: with the first of those. `id` is null in
 * the only row of a claim that got nothing and left some.
 */
export interface HeadsRow extends LeasedRow {
  passed_rank: number | null;
  passed_position: number | null;
  /** Their groups, while `group_concurrency` was lowered and the queue narrows. */
  crowded: string[] | null;
}

/** By id, the jobs that took the place of another one of their group: whose turn it was. */
type StandIns = Record<string, { rank: number; key: string }>;

/** As sql/claim/fair.sql returns it: `cut` when there may be more jobs, `ms` is the time that the statement took. */
export interface FairRow extends HeadsRow {
  cut: boolean;
  ms: number;
  stand_ins: StandIns | null;
}

/** As sql/claim/front.sql returns it: where the first job with a key is, and whether the front holds all ready jobs. */
export interface FrontRow extends HeadsRow {
  first_rank: number | null;
  first_position: number | null;
  holds_all: boolean;
  ms: number;
  stand_ins: StandIns | null;
}

/** A row of any claiming statement. */
export type ClaimedRow = LeasedRow & Partial<Omit<FairRow & FrontRow, keyof LeasedRow>>;

/** What a statement leased to each claim. */
export interface Leases {
  jobs: LeasedJob[][];
  /** True when memory was short, and there was room for small jobs only. */
  scarce?: boolean;
  /** True when the queue may hold more jobs, although the statement leased fewer than it was asked for. */
  cut: boolean;
  /** The time until the rate limit of the queue allows another job. None when it allows one now. */
  opensInMs?: number | undefined;
}

/** A lease, as a repeat of its claim finds it. */
export interface RepeatedRow extends Omit<LeasedRow, 'slot'> {
  lease_seconds: number;
}

/** Makes a lease of its row, in place. */
export const toLease = (
  row: Omit<LeasedRow, 'slot'>,
  queue: Pick<Queue, 'name' | 'lease_seconds'>,
  lease_seconds = queue.lease_seconds,
): LeasedJob => Object.assign(row, LEASED, { queue: queue.name, lease_seconds });

/**
 * Deals the rows of a statement out to its claims, by their slots. `size` is how many UTF-16 units all jobs have
 * together.
 */
export function dealRows(
  rows: LeasedRow[],
  queue: Queue,
  claims: Claim[],
  firstSlots: number[],
): { jobs: LeasedJob[][]; size: number } {
  rows.sort((a, b) => a.slot - b.slot);
  let size = 0;
  let at = 0;
  const jobs = claims.map((claim, i) => {
    const end = firstSlots[i + 1] ?? Number.POSITIVE_INFINITY;
    const leased: LeasedJob[] = [];
    let own = 0;
    for (let row = rows[at]; row && row.slot < end; row = rows[++at]) {
      const job = toLease(row, queue, claim.lease_seconds);
      leased.push(job);
      own += sizeOf(job);
    }
    claim.bytes += own;
    if (own > SMALL_BYTES) claim.hold?.().add(own * (COPIES - 1));
    size += own;
    return leased;
  });
  return { jobs, size };
}

/**
 * Makes leases of rows of several queues. They are sorted by queue, in the order of `names`, and within each as in the
 * queue.
 */
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
