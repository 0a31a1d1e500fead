import type { TotalRow } from '../metrics/totalRow.ts';
import type { Totals } from '../metrics/totals.ts';
import type { CountCache } from './countCache.ts';
import { type CountRow, countsOf } from './countJobs.ts';
import type { DepthBook, QueueFacts } from './depthBook.ts';

/**
 * Counts the queues that have a row in dibs.totals. Small ones are all counted. Large ones take turns: one batch of
 * them, and more until the time `until`.
 */
export function createOwnCounts(context: {
  totals: Totals;
  cache: CountCache;
  book: DepthBook;
  /** Counts small queues, and tells which ones are large. */
  look(ids: number[]): Promise<CountRow[]>;
}) {
  const { totals, cache, book, look } = context;

  return async (until: number): Promise<void> => {
    const at = performance.now();
    const own = totals.rows().filter((total): total is TotalRow & QueueFacts => total.name !== null);
    const rows = await look(own.map(({ queue_id }) => queue_id));
    const large = rows.filter((row) => row.cut).map((row) => row.id);
    large.sort((a, b) => (cache.of(a)?.at ?? 0) - (cache.of(b)?.at ?? 0));
    for (let left = large; left.length > 0; ) {
      await cache.countBatch(left);
      if (performance.now() >= until) break;
      left = left.filter((id) => (cache.of(id)?.at ?? 0) < at);
    }
    const queues = new Map(own.map((total) => [total.queue_id, total]));
    for (const row of rows) {
      const { name, paused, max_leased, max_ready, alert_after_seconds } = queues.get(
        row.id,
      ) as (typeof own)[number];
      const known = row.cut ? cache.of(row.id) : { counts: countsOf(row), at };
      if (!known) continue;
      const depth = { counts: known.counts, oldestReadySeconds: row.oldest_ready_age_seconds, at: known.at };
      book.set({ id: row.id, name, paused, max_leased, max_ready, alert_after_seconds }, depth, at);
    }
  };
}
