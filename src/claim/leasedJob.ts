import type { Job, JobRow } from '../job.ts';

/** A job with a lease, as its claim is answered. */
export interface LeasedJob extends Job {
  payload: string;
  lease_token: string;
  lease_expires_at: string;
}

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

/** Makes a lease of its row, in place. */
export const toLease = (row: Omit<LeasedRow, 'slot'>, queue: string): LeasedJob =>
  Object.assign(row, LEASED, { queue });
