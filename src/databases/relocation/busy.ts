import type { Caller } from '../../caller.ts';
import { queueBusy } from '../../errors.ts';
import type { Db } from '../../postgres/pool.ts';
import { planned, row } from '../../postgres/statements.ts';

const statement = planned(
  'relocation/busy',
  row<{ is_busy: boolean; tied_to: string | null; batch: string | null }>(),
);

/** Whether something keeps a queue in its database. @throws Refusal `queue_busy`, which names another queue only if `mayUse` */
export async function refuseBusy(
  db: Db,
  queue_id: number,
  queue: string,
  mayUse: Caller['mayUse'],
): Promise<void> {
  const [found] = await db.query(statement, { queue_id });
  if (found?.is_busy) throw queueBusy(queue, 'is worked on by an operation');
  if (found?.batch) throw queueBusy(queue, `has jobs of the batch ${found.batch}, or follows it`);
  if (found?.tied_to) {
    const other = mayUse(found.tied_to) ? `queue ${found.tied_to}` : 'another queue';
    throw queueBusy(queue, `and ${other} stay together: dead jobs of one go to the other`);
  }
}
