import type { Db } from '../postgres/pool.ts';
import { planned, row } from '../postgres/statements.ts';
import type { Arrivals } from './arrivals.ts';
import { type ScannedQueues, type ScanOrder, scanOrdersOf } from './scanOrder.ts';

/*
 * The table dibs.scan_floors keeps floors for replicas that start, or did not claim from a queue for a while. Without
 * it, they would survey each queue from its beginning.
 */

/** The stored floors of an order are read at most this often. */
const READ_MS = 1000;

const statements = {
  read: planned('floor/stored_floors', row<{ rank: number; position: number }>()),
  store: planned('floor/store_floors'),
  drop: planned('floor/drop_floors'),
};

/** Raises the floors of an order to the stored ones. */
export async function readStoredFloors(db: Db, arrivals: Arrivals, order: ScanOrder): Promise<void> {
  const at = performance.now();
  if (at < order.storedReadAt + READ_MS) return;
  order.storedReadAt = at;
  const rows = await db.query(statements.read, { queue_id: order.queueId, has_keys: order.hasKeys });
  for (const { rank, position } of rows)
    if (position <= arrivals.newest()) order.floor.stored(rank, position);
}

/** Drops the stored floors after `end`, where the order ended when it was set back. */
export const dropStoredFloors = (db: Db, end: number): Promise<unknown> => db.query(statements.drop, { end });

/** The duty that stores the floors below which much was done. */
export function storeFloors(context: {
  db: Db;
  claims: { memories: ScannedQueues };
  arrivals: Arrivals;
}): () => Promise<boolean> {
  const { db, claims, arrivals } = context;
  return async () => {
    const server = arrivals.server();
    if (server === undefined) return false;
    const found = [...claims.memories.all()]
      .flatMap(scanOrdersOf)
      .flatMap(({ queueId, hasKeys, floor }) =>
        floor.takeUnstored().map((one) => ({ queueId, hasKeys, ...one })),
      );
    if (found.length === 0) return false;
    await db.query(statements.store, {
      queue_ids: found.map(({ queueId }) => queueId),
      ranks: found.map(({ rank }) => rank),
      positions: found.map(({ position }) => position),
      has_keys: found.map(({ hasKeys }) => hasKeys),
      server,
      newest: arrivals.newest(),
    });
    return false;
  };
}
