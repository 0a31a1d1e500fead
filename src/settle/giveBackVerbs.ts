import type { Arrivals } from '../floor/arrivals.ts';
import type { Job, JobRow } from '../job.ts';
import { actOn, beginningWith } from '../postgres/act.ts';
import type { Db } from '../postgres/pool.ts';
import { inTurnOf } from '../postgres/transactions.ts';
import type { Queue } from '../queues/cache.ts';
import type { Signed } from '../verbs/callers.ts';
import type { Nack, Release } from '../verbs/settle.ts';
import type { AfterSettle } from './afterSettle.ts';
import { type GiveBack, prepareNack, prepareRelease } from './giveBack.ts';
import { createLateSettlement } from './late.ts';
import { type Item, type SettleContext, settleInBatches } from './settleBatch.ts';

/** What nack and release differ in. */
interface GiveBackVerb<I> {
  textOf(item: I): string | undefined;
  prepare(db: Db, queue: Queue, items: I[], late: boolean): Promise<GiveBack>;
  /** The jobs are given back, and this is committed. */
  givenBack(queue: Queue, rows: JobRow[], late: boolean): Promise<Job[]>;
}

/** Makes the verbs that give a job back. */
export function createGiveBackVerbs(
  context: SettleContext & { arrivals: Arrivals; afterSettle: AfterSettle },
) {
  const { db, arrivals, afterSettle } = context;
  const settleLate = createLateSettlement(db);

  const verbOf = <I extends Item & Signed>({ textOf, prepare, givenBack }: GiveBackVerb<I>) => {
    async function touch(queue: Queue, items: I[]): Promise<Job[]> {
      const giveBack = await prepare(db, queue, items, false);
      const rows = await giveBack(beginningWith(inTurnOf(db, { queue: queue.id }), actOn(items)));
      return givenBack(queue, rows, false);
    }
    const watch = <T>(queue: Queue, work: () => Promise<T>) => arrivals.watch(() => [queue.id], work);
    return settleInBatches<I, Job>(context, {
      inRoundTrips: false,
      textOf,
      touch: (queue, items) => watch(queue, () => touch(queue, items)),
      settleLate: (queue, items, found) =>
        watch(queue, () =>
          settleLate(queue, items, found, {
            prepare: (some) => prepare(db, queue, some, true),
            givenBack: (rows) => givenBack(queue, rows, true),
          }),
        ),
    });
  };

  return {
    nack: verbOf<Nack>({
      textOf: (item) => item.error,
      prepare: prepareNack,
      givenBack: afterSettle.nacked,
    }),
    release: verbOf<Release>({
      textOf: () => undefined,
      prepare: prepareRelease,
      givenBack: afterSettle.released,
    }),
  };
}
