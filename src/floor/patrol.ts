import { isTimeLimit } from '../postgres/errorClasses.ts';
import { restAfter } from '../shareOfTime.ts';
import type { Recall, Recalled } from './recall.ts';
import { type ScannedQueue, type ScannedQueues, scanOrdersOf } from './scanOrder.ts';
import { createAdaptiveWidth } from './widths.ts';

/** After each search, a patrol rests at least as long as after a search of this length when there is a hint. */
const LEAST_MS = 1;
/** A queue is patrolled again after this time: one from which jobs were claimed since, and one from which none were. */
const ACTIVE_MS = 1000;
const IDLE_MS = 30_000;
/** A search takes about this long. */
const SEARCH_MS = 10;
/** One that took longer is rested for as one of this length. On a busy machine it mostly waited for a processor. */
const LONGEST_SEARCH_MS = 200;

const dueAt = ({ patrolledAt, claimed }: ScannedQueue) => patrolledAt + (claimed ? ACTIVE_MS : IDLE_MS);
const isSuspect = (queue: ScannedQueue) => scanOrdersOf(queue).some(({ floor }) => floor.isSuspect());

/**
 * Patrols over all that lies below the floors of this replica: one queue after the other, piece by piece. It finds the
 * jobs that have no mark: those that a claim had locked when the floor passed them, and rolled back, and those of a
 * replica that died before it marked them.
 */
export function createPatrol({ queues, recall }: { queues: ScannedQueues; recall: Recall }) {
  /** The patrol that has begun: where it goes on. */
  let place: { queue: ScannedQueue; from: number } | undefined;
  const width = createAdaptiveWidth(SEARCH_MS);

  function begin(): typeof place {
    let queue: ScannedQueue | undefined;
    for (const one of queues.all()) if (!queue || dueAt(one) < dueAt(queue)) queue = one;
    if (!queue || dueAt(queue) > performance.now()) return undefined;
    queue.claimed = false;
    width.begin();
    return { queue, from: 0 };
  }

  /** Patrols go one after the other. So a hint at one queue makes all of them quicker. */
  function restOf(ms: number): number {
    const share = [...queues.all()].some(isSuspect) ? 'hinted patrols' : 'patrols';
    return Math.max(restAfter(LEAST_MS, 'hinted patrols'), restAfter(Math.min(ms, LONGEST_SEARCH_MS), share));
  }

  return {
    /** Searches one piece. Returns how long to rest after it. Undefined when no queue is due. */
    async goOn(): Promise<number | undefined> {
      place ??= begin();
      if (!place) return undefined;
      const { queue, from } = place;
      const to = from + width.get();
      const began = performance.now();
      let recalled: Recalled;
      try {
        recalled = await recall(queue, from, to);
      } catch (error) {
        if (!isTimeLimit(error)) throw error;
        width.failed();
        return restOf(performance.now() - began);
      }
      const { jobs, ms } = recalled;
      if (jobs > 0) for (const { floor } of scanOrdersOf(queue)) floor.suspect();
      // All floors were forgotten meanwhile.
      if (!place) return restOf(ms);
      place.from = to + 1;
      width.took(ms);
      if (scanOrdersOf(queue).every(({ floor }) => to >= floor.highest())) {
        queue.patrolledAt = performance.now();
        place = undefined;
      }
      return restOf(ms);
    },

    /** All floors were forgotten. The next patrol begins anew. */
    forget(): void {
      place = undefined;
    },
  };
}
