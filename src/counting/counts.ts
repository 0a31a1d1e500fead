import { setTimeout as sleep } from 'node:timers/promises';
import { unavailable } from '../errors.ts';
import type { QueueCounts } from '../verbs/queues.ts';
import type { CountCache } from './countCache.ts';
import { countsOf } from './countJobs.ts';

/**
 * Each request counts its smallest queues anew, up to this number of jobs together. 10,000 jobs take 1 ms, or 3 ms
 * before they are vacuumed.
 */
const ANEW = { alone: 100_000, amongOthers: 10_000 };
/** Jobs to count on the first look at a queue, because nothing is known of its size yet. */
const FIRST_LOOK = 1000;
/**
 * A request waits this long for all of its counts together. A count that takes longer goes on, for later requests.
 */
const LONGEST_WAIT_MS = 4000;

const stillCounting = () => unavailable('A very large queue is still being counted. Try again later.');

/**
 * Waits for a count, until the time `until` (of performance.now()). @throws Refusal `unavailable` when it takes longer
 */
function waitFor<T>(count: Promise<T>, until: number): Promise<T> {
  const late = sleep(Math.max(0, until - performance.now()), undefined, { ref: false }).then(() => {
    throw stillCounting();
  });
  return Promise.race([count, late]);
}

/** Counts jobs by state: small queues at each call, large queues now and then, in proportion to the cost. */
export function queueCounter(cache: CountCache) {
  /** How many jobs of each queue may be counted anew. The smallest queues come first, until `budget` is used up. */
  function limitsOf(ids: number[], budget: number): number[] {
    const known = ids.map((id) => cache.of(id)?.jobs);
    const sizes = known.map((size) => size ?? 0);
    let left = budget;
    const limits = ids.map(() => 0);
    for (const i of [...ids.keys()].sort((a, b) => (sizes[a] as number) - (sizes[b] as number))) {
      left -= sizes[i] as number;
      if (left < 0) break;
      limits[i] = known[i] === undefined ? FIRST_LOOK : budget;
    }
    return limits;
  }

  return {
    /** The counts of these queues: exact for small queues. countCache.ts says how old those of large ones may be. */
    async countsOf(ids: number[], asked: keyof typeof ANEW): Promise<Map<number, QueueCounts>> {
      const began = performance.now();
      const until = began + LONGEST_WAIT_MS;
      const rows = await cache.countSome(ids, limitsOf(ids, ANEW[asked]));
      const large = rows.filter((row) => row.cut).map((row) => row.id);
      for (;;) {
        const late = cache.tooOld(large, began);
        if (late.length === 0) break;
        if (performance.now() >= until) throw stillCounting();
        await waitFor(cache.countBatch(late), until);
      }
      void cache.refresh(large);
      const answers = new Map<number, QueueCounts>();
      for (const row of rows) {
        const counts = (row.cut && cache.of(row.id)?.counts) || countsOf(row);
        answers.set(row.id, { counts, oldest_ready_age_seconds: row.oldest_ready_age_seconds });
      }
      return answers;
    },
  };
}
