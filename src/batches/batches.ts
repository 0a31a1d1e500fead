import { batchAlreadyClosed, batchNotFound, Refusal } from '../errors.ts';
import { isUuid } from '../ids.ts';
import { batchAsRefusal, isBatchClosed } from '../postgres/errorClasses.ts';
import type { Database } from '../postgres/pool.ts';
import { planned, row } from '../postgres/statements.ts';
import { inTurnOf } from '../postgres/transactions.ts';
import type { Batch, BatchList, BatchName, BatchPage } from '../verbs/batches.ts';
import type { Signed } from '../verbs/callers.ts';
import type { CancelJobs } from './cancelJobs.ts';
import type { KnownBatches } from './known.ts';

/** Where the request that created a batch belongs in a trace. */
export interface BatchTrace {
  id: string;
  traceparent: string;
}

type BatchRow = Omit<Batch, 'counts'> & Batch['counts'];

const statements = {
  close: planned('batches/close'),
  cancel: planned('batches/cancel'),
  find: planned('batches/find', row<BatchRow>()),
  list: planned('batches/list', row<BatchRow>()),
  traces: planned('batches/traces', row<BatchTrace>()),
  others: planned('batches/others', row<{ has_others: boolean }>()),
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

/** So many jobs in each unfinished state are counted: of one batch, and of each of a list. A million take 0.3 s. */
const COUNTED = 5_000_000;
const COUNTED_IN_LISTS = 10_000;

const asRefusal = (error: unknown) => Promise.reject(batchAsRefusal(error));

/** Shows batches, closes and cancels them. What ends them is in the database: sql/functions/end_batch.sql. */
export function createBatches(context: { db: Database; cancelJobs: CancelJobs; knownBatches: KnownBatches }) {
  const { db, cancelJobs, knownBatches } = context;

  async function get({ id, visible = null }: BatchName): Promise<Batch> {
    const [found] = isUuid(id) ? await db.query(statements.find, { id, visible, most: COUNTED }) : [];
    if (!found) throw batchNotFound(id);
    return toBatch(found);
  }

  async function refuseOthers(id: string, visible: string[] | null | undefined): Promise<void> {
    const [found] = visible ? await db.query(statements.others, { id, visible }) : [];
    if (found?.has_others)
      throw new Refusal('forbidden', 'The batch has jobs in a queue that this access key may not use.');
  }

  return {
    get,

    traces: (ids: string[]): Promise<BatchTrace[]> => db.query(statements.traces, { ids }),

    list: async ({ limit, after, queue, state, visible = null }: BatchPage): Promise<BatchList> => ({
      batches: (
        await db.query(statements.list, {
          limit,
          most: COUNTED_IN_LISTS,
          after: after ?? null,
          queue: queue ?? null,
          state: state ?? null,
          visible,
        })
      ).map(toBatch),
    }),

    async close({ id, visible }: BatchName): Promise<Batch> {
      const { queue } = await knownBatches.one({ id, visible });
      await inTurnOf(db, { queue })
        .query(statements.close, { id })
        .catch((error) => (isBatchClosed(error) ? Promise.reject(batchAlreadyClosed(id)) : asRefusal(error)));
      return get({ id });
    },

    /**
     * Cancels what waits, in chunks, for a short time. The duty goes on. @throws Refusal `forbidden` for jobs in queues that the caller
     * may not use
     */
    async cancel({ id, visible, by }: BatchName & Signed): Promise<Batch> {
      const { queue } = await knownBatches.one({ id, visible });
      await refuseOthers(id, visible);
      await inTurnOf(db, { queue, by }).query(statements.cancel, { id }).catch(asRefusal);
      await cancelJobs(id, by);
      return get({ id });
    },
  };
}

export type Batches = ReturnType<typeof createBatches>;
