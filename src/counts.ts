import type { Db } from './db.ts';
import { planned } from './sql.ts';
import type { JobState } from './types.ts';

const counts = planned('counts');
const oldestReady = planned('oldest_ready');

export interface QueueCounts {
  counts: Record<JobState, number>;
  oldest_ready_age_seconds: number | null;
}

/** Counting may take at most this share of the time: a count that took 100 ms is served again for 2 s. */
const SHARE = 1 / 20;
/** A count faster than this is always made anew: clients look for what they just did. */
const CHEAP_MS = { alone: 100, amongOthers: 10 };
/** So is one of fewer jobs, which is slow only because the machine is busy. */
const FEW_JOBS = 10_000;

const total = (counts: Record<JobState, number>) => Object.values(counts).reduce((sum, n) => sum + n, 0);

/** Counts jobs by state: exact and fresh for a queue that is counted fast, cached in proportion to the cost of others. */
export function queueCounter(db: Db) {
  const cache = new Map<number, { counted: Promise<QueueCounts>; took: number; until: number }>();

  async function count(queueId: number): Promise<QueueCounts> {
    const [[states], [oldest]] = await Promise.all([
      db.query<Record<JobState, number>>(counts, [queueId]),
      db.query<{ oldest_ready_age_seconds: number | null }>(oldestReady, [queueId]),
    ]);
    return {
      counts: states as Record<JobState, number>,
      oldest_ready_age_seconds: oldest?.oldest_ready_age_seconds ?? null,
    };
  }

  function countsOf(queueId: number, asked: keyof typeof CHEAP_MS): Promise<QueueCounts> {
    const known = cache.get(queueId);
    const started = performance.now();
    const cheap = known && known.took < CHEAP_MS[asked];
    if (known && !cheap && started < known.until) return known.counted;
    const counted = count(queueId);
    // Whoever asks for a large queue meanwhile waits for this count; of others it would miss what they just did.
    if (known) cache.set(queueId, { counted, took: known.took, until: Number.POSITIVE_INFINITY });
    counted.then(
      ({ counts }) => {
        const took = performance.now() - started;
        if (total(counts) < FEW_JOBS) cache.delete(queueId);
        else cache.set(queueId, { counted, took, until: started + took / SHARE });
      },
      () => cache.delete(queueId),
    );
    return counted;
  }

  return {
    countsOf,

    /** Much was done to this queue at once: the next count is made anew. */
    forget(queueId: number): void {
      cache.delete(queueId);
    },
  };
}
