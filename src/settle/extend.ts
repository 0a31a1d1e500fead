import type { LeaseTimes } from '../leaseTimes.ts';
import { prepared, row } from '../postgres/statements.ts';
import { textArray } from '../postgres/textArray.ts';
import type { Extend, Extended } from '../verbs/settle.ts';
import { ids, type SettleContext, settleInBatches, tokens } from './settleBatch.ts';

const statement = prepared('settle/extend', row<Omit<Extended, 'state'>>());

/** Makes the verb that makes a lease end later. */
export const createExtend = (context: SettleContext & { leaseEnds: LeaseTimes }) =>
  settleInBatches<Extend, Extended>(context, {
    inRoundTrips: false,
    textOf: (item) => item.progress?.text,
    async touch(queue, items, on) {
      for (const { id } of items) context.leaseEnds.take(id);
      const rows = await on.query(statement, {
        queue_id: queue.id,
        ids: ids(items),
        lease_tokens: tokens(items),
        lease_seconds: items.map((i) => i.lease_seconds),
        progress: textArray(items.map((i) => i.progress?.text ?? null)),
      });
      return rows.map((row) => ({ ...row, state: 'leased' }));
    },
  });
