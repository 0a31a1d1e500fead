import { MINUTE_MS } from '../metrics/lastMinute.ts';
import type { Totals } from '../metrics/totals.ts';
import type { Db } from '../postgres/pool.ts';
import { planned, row } from '../postgres/statements.ts';
import { type Depth, sumOf } from './depthBook.ts';
import type { Depths } from './depths.ts';
import { ALL } from './samples.ts';

/*
 * Writes the samples of a minute (table dibs.samples, docs/decisions/0039-samples.md). The first replica that finds a
 * minute missing writes it. A minute in which nothing moves and nobody looks is not written: reading fills it with the
 * minute before.
 */

/** This number of queues have samples: the busiest ones. */
export const MOST_QUEUES = 100;
/**
 * Each replica looks at another time, up to this long after a minute has begun. The first one counts. The others find
 * its samples.
 */
const LATEST_MS = 10_000;
/** Large queues are counted for this long in a minute. */
const COUNT_MS = 500;
/** A count that is older than this is not used as a sample. */
const OLDEST_COUNT_MS = 10 * MINUTE_MS;

const statements = {
  due: planned('counting/samples_due', row<{ is_due: boolean }>()),
  write: planned('counting/samples_write'),
  prune: planned('counting/samples_prune'),
};

const waitingOf = ({ counts }: Depth) => counts.ready + counts.blocked + counts.scheduled;
const jobsOf = (depth: Depth) => waitingOf(depth) + depth.counts.leased + depth.counts.dead;
const isFresh = (depth: Depth | undefined) => depth && performance.now() - depth.at < OLDEST_COUNT_MS;

interface Row {
  id: number;
  depth: Depth | undefined;
}

export function createSampler({ db, totals, depths }: { db: Db; totals: Totals; depths: Depths }) {
  const offset = Math.random() * LATEST_MS;
  const minuteNow = () => Math.floor((performance.now() - offset) / MINUTE_MS);
  /** The last minute in which it looked, and when it did. A new process waits for the next minute. */
  let lookedIn = minuteNow();
  let lookedAt = 0;

  /** The busiest queues, and a row for all queues together. No rows if no queue has jobs or had anything to do. */
  function rowsOf(): Row[] {
    const own = totals
      .rows()
      .filter(({ queue_id, name }) => queue_id > ALL && name !== null)
      .map(({ queue_id: id }) => ({ id, depth: depths.of(id), rates: totals.perSecond(id) }))
      .map(({ id, depth, rates }) => ({
        id,
        depth: isFresh(depth) ? depth : undefined,
        busy: (rates ? rates.enqueued + rates.claimed : 0) * 1000 + (depth ? jobsOf(depth) : 0),
      }))
      .filter(({ depth, busy }) => busy > 0 || !depth)
      .sort((a, b) => b.busy - a.busy);
    const others = depths.sumOfOthers();
    if (own.length === 0 && !(others && jobsOf(others) > 0)) return [];
    const isKnown = others && own.every(({ depth }) => depth);
    const sum = isKnown ? sumOf([...own.map(({ depth }) => depth as Depth), others]) : undefined;
    return [{ id: ALL, depth: sum }, ...own.slice(0, MOST_QUEUES)];
  }

  /** Writes the samples of this minute. Returns whether there were any. */
  async function write(): Promise<boolean> {
    await totals.flush();
    await depths.countNow(COUNT_MS);
    const rows = rowsOf();
    if (rows.length === 0) return false;
    const column = (of: (depth: Depth) => number | null) =>
      rows.map(({ depth }) => (depth ? of(depth) : null));
    await db.query(statements.write, {
      queue_ids: rows.map(({ id }) => id),
      ready: column(({ counts }) => counts.ready),
      waiting: column(waitingOf),
      leased: column(({ counts }) => counts.leased),
      dead: column(({ counts }) => counts.dead),
      oldest: column(({ oldestReadySeconds }) => oldestReadySeconds),
    });
    await db.query(statements.prune);
    return true;
  }

  return {
    write,

    /** A run of the duty. */
    async run(): Promise<void> {
      const minute = minuteNow();
      // Jobs may have moved in the minute before the last look, but after its samples were written.
      if (minute === lookedIn || !(totals.isWatched() || totals.movedAt() > lookedAt - MINUTE_MS)) return;
      const now = performance.now();
      const [found] = await db.query(statements.due);
      if (found?.is_due) await write();
      lookedIn = minute;
      lookedAt = now;
    },
  };
}
