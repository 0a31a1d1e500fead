import { batchNotFound } from '../errors.ts';
import { isUuid } from '../ids.ts';
import { batchAsRefusal } from '../postgres/errorClasses.ts';
import type { Database } from '../postgres/pool.ts';
import { planned, row } from '../postgres/statements.ts';
import { inTurnOf } from '../postgres/transactions.ts';
import type { Batch, BatchList, BatchName, BatchPage, NewBatch } from '../verbs/batches.ts';
import type { Signed } from '../verbs/callers.ts';
import type { CancelJobs } from './cancelJobs.ts';

type BatchRow = Omit<Batch, 'counts'> & Batch['counts'];

const statements = {
  close: planned('batches/close'),
  cancel: planned('batches/cancel'),
  find: planned('batches/find', row<BatchRow>()),
  list: planned('batches/list', row<BatchRow>()),
};

const toBatch = ({
  scheduled,
  ready,
  blocked,
  leased,
  completed,
  cancelled,
  dead,
  ...batch
}: BatchRow): Batch => ({
  ...batch,
  counts: { scheduled, ready, blocked, leased, completed, cancelled, dead },
});

const asRefusal = (error: unknown) => Promise.reject(batchAsRefusal(error));

/** Creates batches, shows them, closes and cancels them. What ends them is in the database: sql/functions/end_batch.sql. */
export function createBatches(context: {
  db: Database;
  createBatch(request: NewBatch): Promise<string>;
  cancelJobs: CancelJobs;
}) {
  const { db, createBatch, cancelJobs } = context;

  async function get({ id, visible = null }: BatchName): Promise<Batch> {
    const [found] = isUuid(id) ? await db.query(statements.find, { id, visible }) : [];
    if (!found) throw batchNotFound(id);
    return toBatch(found);
  }

  return {
    get,

    create: async (request: NewBatch): Promise<Batch> => get({ id: await createBatch(request) }),

    list: async ({ limit, after, queue, state, visible = null }: BatchPage): Promise<BatchList> => ({
      batches: (
        await db.query(statements.list, {
          limit,
          after: after ?? null,
          queue: queue ?? null,
          state: state ?? null,
          visible,
        })
      ).map(toBatch),
    }),

    async close({ id, visible }: BatchName): Promise<Batch> {
      const { queue } = await get({ id, visible });
      await inTurnOf(db, { queue }).query(statements.close, { id }).catch(asRefusal);
      return get({ id });
    },

    /** Cancels what waits, in chunks. */
    async cancel({ id, visible, by }: BatchName & Signed): Promise<Batch> {
      const { queue } = await get({ id, visible });
      await inTurnOf(db, { queue, by }).query(statements.cancel, { id }).catch(asRefusal);
      await cancelJobs(id, by);
      return get({ id });
    },
  };
}

export type Batches = ReturnType<typeof createBatches>;
