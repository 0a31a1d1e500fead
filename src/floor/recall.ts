import type { Db } from '../postgres/pool.ts';
import { prepared, row } from '../postgres/statements.ts';
import type { Notifier } from '../replicas/notifier.ts';
import type { Arrivals } from './arrivals.ts';
import { type ScannedQueue, type ScanOrder, scanOrdersOf } from './scanOrder.ts';
import { rangesOf } from './scanRanges.ts';

// Planned for each call, by statistics from the middle of a burst, it took 2 s over an empty piece. The patrol stood
// still.
const statement = prepared('floor/recall', row<{ count: number; ms: number }>());

/** The number of jobs that one statement recalls. */
const CHUNK = 500;

/** How many jobs were recalled, and how long the searches for them took. */
export interface Recalled {
  jobs: number;
  ms: number;
}

/** Gives new positions to the jobs of a queue that are ready below its floors, from position `first` to `last`. */
export type Recall = (queue: ScannedQueue, first: number, last: number) => Promise<Recalled>;

export function createRecall(context: { db: Db; arrivals: Arrivals; notifier: Notifier }): Recall {
  const { db, arrivals, notifier } = context;

  async function recallIn(order: ScanOrder, name: string, first: number, last: number): Promise<Recalled> {
    const { queueId, hasKeys, floor } = order;
    const pieces = floor.below(first, last);
    const total = { jobs: 0, ms: 0 };
    if (pieces.length === 0) return total;
    const asked = { queue_id: queueId, has_keys: hasKeys, ...rangesOf(pieces), limit: CHUNK };
    let count: number;
    do {
      const [found] = await arrivals.watch(
        () => [queueId],
        () => db.query(statement, asked),
      );
      count = found?.count ?? 0;
      total.jobs += count;
      total.ms += found?.ms ?? 0;
      if (count > 0) notifier.ready(name);
    } while (count === CHUNK);
    return total;
  }

  return async (queue, first, last) => {
    const total = { jobs: 0, ms: 0 };
    for (const order of scanOrdersOf(queue)) {
      const { jobs, ms } = await recallIn(order, queue.name, first, last);
      total.jobs += jobs;
      total.ms += ms;
    }
    return total;
  };
}
