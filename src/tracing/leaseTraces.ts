import type { SpanContext } from '@opentelemetry/api';

/** So many leases are remembered. The oldest is forgotten for a new one. */
const MOST_LEASES = 20_000;

/** Where a job that was leased belongs. */
export interface LeaseTrace {
  context: SpanContext;
  queue: string;
}

/** The traces of the jobs that this replica leased, for workers that settle them and name no trace. */
export function createLeaseTraces() {
  const leases = new Map<string, LeaseTrace>();
  return {
    find: (id: string): LeaseTrace | undefined => leases.get(id),

    note(id: string, lease: LeaseTrace): void {
      leases.delete(id);
      if (leases.size >= MOST_LEASES) leases.delete(leases.keys().next().value as string);
      leases.set(id, lease);
    },
  };
}

export type LeaseTraces = ReturnType<typeof createLeaseTraces>;
