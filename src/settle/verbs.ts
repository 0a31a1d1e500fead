import { askers, runFor } from '../askers.ts';
import type { JoinRoundTrip } from '../batching/roundTrips.ts';
import type { Arrivals } from '../floor/arrivals.ts';
import type { GroupHeads, Moved } from '../groups/heads.ts';
import type { Job } from '../job.ts';
import type { LeaseTimes } from '../leaseTimes.ts';
import type { Tally } from '../metrics/tally.ts';
import { actOn, behind } from '../postgres/act.ts';
import type { Database } from '../postgres/pool.ts';
import { prepared, row } from '../postgres/statements.ts';
import { textArray } from '../postgres/textArray.ts';
import { inTurnOf } from '../postgres/transactions.ts';
import type { Queue, Queues } from '../queues/cache.ts';
import type { Notifier } from '../replicas/notifier.ts';
import type { Ack, Acked, Extend, Extended, Nack, Release } from '../verbs/settle.ts';
import type { SoleWaiters } from '../waiting/soleWaiters.ts';
import type { Waiters } from '../waiting/waiters.ts';
import { createAfterSettle } from './afterSettle.ts';
import { ackedAs, completeForSole, completeJobs, type Done, HANDED_OVER_BYTES } from './complete.ts';
import { prepareNack, prepareRelease } from './giveBack.ts';
import { createLateSettlement } from './late.ts';
import { ids, settleInBatches, tokens } from './settleBatch.ts';

const extend = prepared('settle/extend', row<Omit<Extended, 'state'>>());

interface Context {
  db: Database;
  joinRoundTrip: JoinRoundTrip;
  queues: Queues;
  arrivals: Arrivals;
  notifier: Notifier;
  waiters: Waiters;
  soleWaiters: SoleWaiters;
  groups: GroupHeads;
  tally: Tally;
  leaseEnds: LeaseTimes;
}

/**
 * The verbs that end or extend a lease, without follow-ups (followUps.ts). Each throws `lease_lost` for a stale token
 * and `job_not_found` for a job that is gone.
 */
export function createSettlement(context: Context) {
  const { db, soleWaiters, groups, arrivals, leaseEnds } = context;
  const afterSettle = createAfterSettle(context);
  const { acked, nacked, released } = afterSettle;

  const late = createLateSettlement(db);

  const watch = <T>(queue: Queue, work: () => Promise<T>) => arrivals.watch(() => [queue.id], work);

  /** Advances the groups before the acks are answered. So a claim that is sent after an answer finds the next job of the group. */
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
        acked(queue, rows);
        return rows.map(ackedAs);
      },
      ifUntouched: (found) => (found.state === 'completed' ? ackedAs(found) : undefined),
    });
  const ack = ackBy(completeJobs);
  const ackForSole = ackBy((queue, items, on, seen) => completeForSole(queue, items, on, seen, soleWaiters));

  return {
    ...afterSettle,

    ack(item: Ack): Promise<Acked & Moved> {
      const isSmall = (item.result?.text.length ?? 0) <= HANDED_OVER_BYTES;
      const letGo = isSmall ? soleWaiters.hold(item.id) : undefined;
      return letGo ? ackForSole(item).finally(letGo) : ack(item);
    },

    nack: settleInBatches<Nack, Job>(context, {
      inRoundTrips: false,
      textOf: (item) => item.error,
      touch: (queue, items) =>
        watch(queue, async () =>
          nacked(
            queue,
            await (await prepareNack(db, queue, items))(
              behind(inTurnOf(db, { queue: queue.id }), actOn(items)),
            ),
            false,
          ),
        ),
      settleLate: (queue, items, found) =>
        watch(queue, () =>
          late(queue, items, found, {
            prepare: (some) => prepareNack(db, queue, some, true),
            givenBack: (rows) => nacked(queue, rows, true),
          }),
        ),
    }),

    release: settleInBatches<Release, Job>(context, {
      inRoundTrips: false,
      textOf: () => undefined,
      touch: (queue, items) =>
        watch(queue, async () =>
          released(
            queue,
            await (await prepareRelease(db, queue, items))(
              behind(inTurnOf(db, { queue: queue.id }), actOn(items)),
            ),
          ),
        ),
      settleLate: (queue, items, found) =>
        watch(queue, () =>
          late(queue, items, found, {
            prepare: (some) => prepareRelease(db, queue, some, true),
            givenBack: (rows) => released(queue, rows),
          }),
        ),
    }),

    extend: settleInBatches<Extend, Extended>(context, {
      inRoundTrips: false,
      textOf: (item) => item.progress?.text,
      async touch(queue, items, on) {
        for (const { id } of items) leaseEnds.take(id);
        const rows = await on.query(extend, {
          queue_id: queue.id,
          ids: ids(items),
          lease_tokens: tokens(items),
          lease_seconds: items.map((i) => i.lease_seconds),
          progress: textArray(items.map((i) => i.progress?.text ?? null)),
        });
        return rows.map((row) => ({ ...row, state: 'leased' }));
      },
    }),
  };
}

export type Settlement = ReturnType<typeof createSettlement>;
