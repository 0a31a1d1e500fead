import { EVENTS, type Event } from '../verbs/counting.ts';

const at = Object.fromEntries(EVENTS.map((event, i) => [event, i])) as Record<Event, number>;

/** Numbers by queue. Each array has a number for each event. */
export type Counts = Map<number, Float64Array>;

export const add = (of: Float64Array, event: Event, jobs: number): void => {
  of[at[event]] = (of[at[event]] as number) + jobs;
};

/** What happened in each queue since it was last taken. */
export function createEventCounts() {
  let counts: Counts = new Map();

  function of(queueId: number): Float64Array {
    let found = counts.get(queueId);
    if (!found) {
      found = new Float64Array(EVENTS.length);
      counts.set(queueId, found);
    }
    return found;
  }

  return {
    of,

    /** Takes the numbers that were counted since the last time. */
    take(): Counts {
      const taken = counts;
      counts = new Map();
      return taken;
    },

    /** Whether anything was counted since the last `take`. */
    hasCounts: (): boolean => counts.size > 0,

    /** Puts numbers back that could not be added to the totals. */
    putBack(taken: Counts): void {
      for (const [queueId, numbers] of taken) {
        const found = of(queueId);
        for (const [i, n] of numbers.entries()) found[i] = (found[i] as number) + n;
      }
    },
  };
}
