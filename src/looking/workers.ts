import type { Db } from '../postgres/pool.ts';
import { planned, row } from '../postgres/statements.ts';
import type { WorkerNow, WorkersNow, WorkersRequest } from '../verbs/queues.ts';

/** So many leases are looked at. */
const LOOK = 20_000;
export const MOST_WORKERS = 1000;

interface Found {
  worker: string | null;
  queue: string;
  leased: number;
  since: string | null;
  next_end: string;
  looked: number;
}

const statement = planned('looking/workers', row<Found>());

export const earlier = (a: string | null, b: string | null) => (a === null || (b !== null && b < a) ? b : a);

function add(
  workers: Map<string | null, WorkerNow>,
  { worker, queue, leased, since, next_end }: Found,
): void {
  const known = workers.get(worker);
  if (!known) {
    workers.set(worker, { worker, leased, queues: [queue], since, next_lease_expires_at: next_end });
    return;
  }
  known.leased += leased;
  known.queues.push(queue);
  known.since = earlier(known.since, since);
  if (next_end < known.next_lease_expires_at) known.next_lease_expires_at = next_end;
}

/** Those with most leases first, then by name. Those without a name stand together, at the end of their like. */
export const inOrder = (a: WorkerNow, b: WorkerNow) =>
  b.leased - a.leased || ((a.worker ?? '\uffff') < (b.worker ?? '\uffff') ? -1 : 1);

/** Who works now, as their leases tell. A worker without a lease is not seen (docs/decisions/0075-workers-by-their-leases.md). */
export const createWorkers =
  ({ db }: { db: Db }) =>
  async ({ queue, visible }: WorkersRequest): Promise<WorkersNow> => {
    const asked = { queue: queue ?? null, visible: visible ?? null };
    const found = await db.query(statement, { ...asked, look: LOOK });
    const workers = new Map<string | null, WorkerNow>();
    for (const one of found) add(workers, one);
    const all = [...workers.values()].sort(inOrder);
    for (const { queues } of all) queues.sort();
    return {
      workers: all.slice(0, MOST_WORKERS),
      total: all.length,
      complete: (found[0]?.looked ?? 0) < LOOK,
    };
  };
