import { askers, runFor } from '../askers.ts';
import type { Moved } from '../groups/heads.ts';
import type { Queue } from '../queues/cache.ts';
import type { Ack, Acked } from '../verbs/settle.ts';
import type { SoleWaiters } from '../waiting/soleWaiters.ts';
import type { AfterSettle } from './afterSettle.ts';
import { ackedAs, completeForSole, completeJobs, type Done, HANDED_OVER_BYTES } from './complete.ts';
import { type SettleContext, settleInBatches } from './settleBatch.ts';

/** Makes the verb that says that a job is done. */
export function createAck(
  context: SettleContext & { soleWaiters: SoleWaiters; afterSettle: AfterSettle },
): (item: Ack) => Promise<Acked & Moved> {
  const { soleWaiters, groups, afterSettle } = context;

  /**
   * Advances the groups before the acks are answered. So a claim that is sent after an answer finds the next job of the
   * group.
   */
  function advanceNext(queue: Queue, gone: Done[]): void {
    const grouped = gone.filter(({ group }) => typeof group === 'string');
    if (grouped.length === 0) return;
    const advanced = groups.advanceWaiting(queue, [...new Set(grouped.map(({ group }) => group as string))]);
    for (const row of grouped) row.advanced = advanced;
  }

  const ackBy = (complete: typeof completeJobs) =>
    settleInBatches<Ack, Acked & Moved>(context, {
      inRoundTrips: true,
      textOf: (item) => item.result?.text,
      async touch(queue, items, on) {
        const who = askers();
        const rows = await complete(queue, items, on, (gone) => runFor(who, () => advanceNext(queue, gone)));
        afterSettle.acked(queue, rows);
        return rows.map(ackedAs);
      },
      ifUntouched: (found) => (found.state === 'completed' ? ackedAs(found) : undefined),
    });
  const ack = ackBy(completeJobs);
  const ackForSole = ackBy((queue, items, on, seen) => completeForSole(queue, items, on, seen, soleWaiters));

  return (item) => {
    const isSmall = (item.result?.text.length ?? 0) <= HANDED_OVER_BYTES;
    const letGo = isSmall ? soleWaiters.hold(item.id) : undefined;
    return letGo ? ackForSole(item).finally(letGo) : ack(item);
  };
}
