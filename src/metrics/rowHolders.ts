import type { Counts } from './eventCounts.ts';
import { type LastMinute, MINUTE_MS } from './lastMinute.ts';
import { activityIn, activityOf, type TotalRows } from './totalRow.ts';

/*
 * Which queues have a row of their own in dibs.totals: METRICS_QUEUES of them. A queue gets one when something happens
 * in it and a row is free, or when it is busier by far than one that has a row.
 */

/** A queue without a row must be busier by this factor to get the row of another one. */
const BUSIER = 2;
/** At most this number of rows change hands in a minute. */
const MOST_MOVES = 10;

/** The queues that give up their rows, and those that get one. */
interface Changes {
  out: number[];
  enter: number[];
}

export function createRowHolders({ most, lastMinute }: { most: number; lastMinute: LastMinute }) {
  /** How busy queues without a row were on this replica in this minute. */
  let busy = new Map<number, number>();
  let busySince = performance.now();
  let proposed: number[] = [];

  const holders = (rows: TotalRows) => [...rows.values()].filter(({ queue_id }) => queue_id > 0);

  /**
   * The queues that get the free rows: first those in which something happened, the busiest first. Then those that have
   * jobs.
   */
  function entering(rows: TotalRows, counts: Counts): number[] {
    if (holders(rows).length >= most) return [];
    const counted = [...counts].filter(([id]) => !rows.has(id));
    counted.sort(([, a], [, b]) => activityIn(b) - activityIn(a));
    const wanted = [...counted.map(([id]) => id), ...proposed].slice(0, most);
    proposed = [];
    return wanted;
  }

  /**
   * The queues whose rows change hands. Busy queues get the rows of quiet ones once a minute. Rows of deleted queues,
   * and surplus rows, are given up at once.
   */
  function moving(rows: TotalRows): Changes {
    const out = holders(rows)
      .filter(({ name }) => name === null)
      .map(({ queue_id }) => queue_id);
    const surplus = holders(rows).length - out.length - most;
    const isDue = performance.now() - busySince >= MINUTE_MS;
    if (surplus <= 0 && !isDue) return { out, enter: [] };
    const quiet = holders(rows)
      .filter(({ name }) => name !== null)
      .map((row) => ({ id: row.queue_id, ever: activityOf(row), lately: lastMinute.activity(row) }))
      .sort((a, b) => a.lately - b.lately || a.ever - b.ever);
    // There may be a surplus: another replica may have a larger METRICS_QUEUES.
    for (const { id } of quiet.splice(0, Math.max(0, surplus))) out.push(id);
    const enter: number[] = [];
    if (!isDue) return { out, enter };
    const ranked = [...busy].filter(([id]) => !rows.has(id)).sort(([, a], [, b]) => b - a);
    busy = new Map();
    busySince = performance.now();
    // While there are free rows, no queue has to give up its own: `entering` gives out the free ones. A busy queue may
    // have been deleted since.
    if (surplus !== 0) return { out, enter };
    for (const [i, [id, activity]] of ranked.slice(0, MOST_MOVES).entries()) {
      const other = quiet[i];
      if (!other || activity <= BUSIER * Math.max(1, other.lately)) break;
      out.push(other.id);
      enter.push(id);
    }
    return { out, enter };
  }

  return {
    /** The changes that follow from what was counted. */
    changes(rows: TotalRows, counts: Counts): Changes {
      for (const [id, numbers] of counts)
        if (!rows.has(id)) busy.set(id, (busy.get(id) ?? 0) + activityIn(numbers));
      const { out, enter } = moving(rows);
      // A queue may be in both.
      return { out, enter: [...new Set([...enter, ...entering(rows, counts)])] };
    },

    /** Queues that have jobs, and should have rows if there are free ones. */
    propose(ids: number[], rows: TotalRows): void {
      if (ids.length > 0 && holders(rows).length < most) proposed = [...proposed, ...ids].slice(0, most);
    },
  };
}
