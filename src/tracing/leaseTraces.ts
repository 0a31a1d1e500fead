import type { SpanContext } from '@opentelemetry/api';
import { createNewest } from '../newest.ts';

/** So many leases are remembered. */
const MOST_LEASES = 20_000;

/** Where a job that was leased belongs. */
export interface LeaseTrace {
  context: SpanContext;
  queue: string;
  batch: string | null;
}

/** The traces of the jobs that this replica leased, for workers that settle them and name no trace. */
export const createLeaseTraces = () => createNewest<LeaseTrace>(MOST_LEASES);

export type LeaseTraces = ReturnType<typeof createLeaseTraces>;
