import type { Lease } from './history.ts';
import type { Intent, Life, Spec, Sweeps } from './life.ts';

const NEVER = Number.POSITIVE_INFINITY;
export const nothing: Sweeps = { redrives: [], purges: [], homes: [] };
/** Every job in the queue may have been redriven. */
export const redriven: Sweeps = { ...nothing, redrives: [{ queue: 'q', answered: 50_000 }] };

let tag = 0;

/** A job whose enqueue was sent at `sent` and answered 10 ms later. */
export function job(id: string, sent: number, spec: Partial<Spec> = {}, more: Partial<Life> = {}): Life {
  const intent: Intent = {
    spec: { queue: 'q', payload: { tag: ++tag }, max_attempts: 5, ...spec },
    request: tag,
    index: 0,
    sent,
    answered: sent + 10,
    outcome: 'done',
    jobs: new Set([id]),
  };
  return { id, intent, created: sent + 5, leases: [], cancels: [], retried: NEVER, ...more };
}

/** Adds a lease to a job, which was answered 10 ms after its start. One that is settled at its end or sooner had a second left. */
export function leased(life: Life, start: number, until: number, settled?: Partial<Lease['settled']>): Life {
  const deliveries = life.leases.length + 1;
  const ends = settled && (settled.sent ?? until) <= until ? until + 1000 : until;
  const lease: Lease = { job: life.id, token: '', deliveries, start, taken: start + 10, until, ends };
  if (settled)
    lease.settled = { verb: 'ack', sent: until, outcome: 'done', answered: until + 10, ...settled };
  life.leases.push(lease);
  return life;
}

/** The state in which a job is found in the end. */
export const ended = (state: string, finished = Number.NEGATIVE_INFINITY): Partial<Life> => ({
  found: { state, finished, deliveries: 1, last_error: null },
});
