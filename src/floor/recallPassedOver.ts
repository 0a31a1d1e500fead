import { isTimeLimit } from '../postgres/errorClasses.ts';
import type { Db } from '../postgres/pool.ts';
import type { Notifier } from '../replicas/notifier.ts';
import type { ArrivalMark, Arrivals } from './arrivals.ts';
import { createPatrol } from './patrol.ts';
import { createRecall, type Recall } from './recall.ts';
import type { ScannedQueues } from './scanOrder.ts';
import { dropStoredFloors } from './storedFloors.ts';

/** Marks of one queue, joined where they touch each other. */
function joined(marks: ArrivalMark[]): ArrivalMark[] {
  const found: ArrivalMark[] = [];
  for (const mark of marks.toSorted((a, b) => a.first - b.first)) {
    const last = found.at(-1);
    if (last && mark.first <= last.last + 1) last.last = Math.max(last.last, mark.last);
    else found.push({ ...mark });
  }
  return found;
}

/** Searches the places that these marks name, as far as they lie below the floors of this replica. */
async function recallMarked(marks: ArrivalMark[], queues: ScannedQueues, recall: Recall): Promise<void> {
  const marksOf = new Map<number, ArrivalMark[]>();
  for (const mark of marks) {
    const others = marksOf.get(mark.queue_id);
    if (others) others.push(mark);
    else marksOf.set(mark.queue_id, [mark]);
  }
  for (const queue of queues.all())
    for (const { first, last } of joined(marksOf.get(queue.queueId) ?? [])) await recall(queue, first, last);
}

/**
 * The duty that recalls jobs which a scan floor passed over: it gives them new positions. No claim looks below its
 * floor. Places that marks name are searched at once. All others are patrolled over, again and again.
 * Returns the time in milliseconds until the patrol goes on.
 */
export function recallPassedOver(context: {
  db: Db;
  claims: { memories: ScannedQueues; wakeAll(): void };
  arrivals: Arrivals;
  notifier: Notifier;
}): () => Promise<number> {
  const { db, claims, arrivals } = context;
  const queues = claims.memories;
  const recall = createRecall(context);
  const patrol = createPatrol({ queues, recall });
  let marks: ArrivalMark[] = [];
  /** Where the order ended when it was set back, until the stored floors after that are dropped. */
  let setBackTo: number | undefined;
  /** The patrol does not go on before this time. */
  let restUntil = 0;

  arrivals.listen({
    marked(found) {
      for (const mark of found) marks.push(mark);
    },
    setBack(end) {
      queues.forget();
      marks = [];
      patrol.forget();
      if (end !== undefined) setBackTo = Math.min(end, setBackTo ?? end);
      claims.wakeAll();
    },
  });

  return async () => {
    if (setBackTo !== undefined) {
      const end = setBackTo;
      await dropStoredFloors(db, end);
      if (setBackTo === end) setBackTo = undefined;
    }
    if (marks.length > 0) {
      const taken = marks;
      marks = [];
      try {
        await recallMarked(taken, queues, recall);
      } catch (error) {
        // A mark is seen once. The patrol finds what lies where the search takes too long.
        if (!isTimeLimit(error)) marks = taken.concat(marks);
        throw error;
      }
    }
    if (performance.now() >= restUntil) {
      const restMs = await patrol.goOn();
      if (restMs === undefined) return Number.POSITIVE_INFINITY;
      restUntil = performance.now() + restMs;
    }
    return restUntil - performance.now();
  };
}
