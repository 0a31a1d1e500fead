import type { Db } from '../postgres/pool.ts';
import { planned, row } from '../postgres/statements.ts';
import { restAfter } from '../shareOfTime.ts';

/** So many jobs wait at most. */
export const MOST_WAITING = 1_000_000;
/** Those for one queue may be so much of what the others leave. */
const SHARE = 0.75;

export const waitingJobs = planned(
  'relay/waiting',
  row<{ queue_ids: number[] | null; counts: number[] | null; oldest_seconds: number | null }>(),
);

export const sumOf = (counts: number[] | null | undefined): number =>
  (counts ?? []).reduce((sum, count) => sum + count, 0);

/** How many jobs wait to arrive in other databases, as the last look of the duty saw it. */
export function createBacklog(db: Db, most = MOST_WAITING) {
  const nothing = () => ({ jobs: 0, forQueue: new Map<number, number>(), oldestSeconds: 0, at: 0 });
  let seen = nothing();
  let lookFrom = 0;

  return {
    async look(): Promise<void> {
      const began = performance.now();
      if (began < lookFrom) return;
      const [found] = await db.query(waitingJobs, { most });
      const counts = found?.counts ?? [];
      seen = {
        jobs: sumOf(counts),
        forQueue: new Map(found?.queue_ids?.map((queueId, i) => [queueId, counts[i] as number])),
        oldestSeconds: found?.oldest_seconds ?? 0,
        at: performance.now(),
      };
      lookFrom = seen.at + restAfter(seen.at - began, 'relay counts');
    },

    nothingWaits(): void {
      seen = nothing();
    },

    /** Jobs for one queue, whose database is away, leave places to those for others. */
    isFull(queueId: number): boolean {
      const own = seen.forQueue.get(queueId) ?? 0;
      return own >= SHARE * (most - (seen.jobs - own));
    },

    /** How many jobs wait here, and for how long the oldest one. */
    waiting: () => ({
      jobs: seen.jobs,
      oldestSeconds: seen.jobs === 0 ? 0 : seen.oldestSeconds + (performance.now() - seen.at) / 1000,
    }),
  };
}
