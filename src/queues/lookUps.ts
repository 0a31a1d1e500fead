import { isOutage } from '../errors.ts';
import { gathering } from '../postgres/gathering.ts';
import { SHORT_LOCK_WAIT_MS } from '../postgres/lockWait.ts';
import type { Database } from '../postgres/pool.ts';
import { planned, prepared, row } from '../postgres/statements.ts';
import { inTurnOf } from '../postgres/transactions.ts';
import type { KnownQueues, QueueKey } from './known.ts';
import type { Queue, QueueRow } from './queue.ts';

/** One statement looks up this number of queues. */
const MOST_TOGETHER = 1000;

interface FoundRow extends QueueRow {
  /**
   * dibs.enqueue has put the first job with a fairness key into this queue, and did not note it here: that would lock
   * the queue until the transaction of its caller ends.
   */
  becomes_fair: boolean;
}

const statements = {
  byNames: prepared('queues/by_names', row<FoundRow>()),
  byIds: prepared('queues/by_ids', row<FoundRow>()),
};

/** Notes at a queue that it has jobs with fairness keys. */
export const noteFair = planned('queues/note_fair');

/** Looks up queues, and remembers what it finds. */
export function createLookUps(db: Database, known: KnownQueues) {
  /** The look-ups that are under way. */
  const asked = new Map<QueueKey, Promise<Queue | undefined>>();

  const findByName = gathering(MOST_TOGETHER, async (names: string[]) => {
    const found = new Map((await db.query(statements.byNames, { names })).map((row) => [row.name, row]));
    return names.map((name) => found.get(name));
  });
  const findById = gathering(MOST_TOGETHER, async (ids: number[]) => {
    const found = new Map((await db.query(statements.byIds, { ids })).map((row) => [row.id, row]));
    return ids.map((id) => found.get(id));
  });

  /** Notes at the queue that it has jobs with fairness keys, if dibs.enqueue did not. */
  async function noted({ becomes_fair, ...row }: FoundRow): Promise<QueueRow> {
    if (!becomes_fair) return row;
    // Where somebody has locked the queue, the next look-up tries again.
    await inTurnOf(db, { queue: row.name, tryMs: SHORT_LOCK_WAIT_MS })
      .query(noteFair, { name: row.name })
      .catch((error) => {
        if (isOutage(error)) throw error;
      });
    return { ...row, fair: true };
  }

  /** The queue as it is now: the look-up begins after the call. */
  async function lookNow(key: QueueKey): Promise<Queue | undefined> {
    const remember = known.beginLookUp();
    const found = await (typeof key === 'string' ? findByName(key) : findById(key));
    return remember(key, found && (await noted(found)));
  }

  return {
    lookNow,

    /** The queue as it is now, or as a look-up finds it that is under way. */
    look(key: QueueKey): Promise<Queue | undefined> {
      const underWay = asked.get(key);
      if (underWay) return underWay;
      const answer = lookNow(key).finally(() => asked.get(key) === answer && asked.delete(key));
      asked.set(key, answer);
      return answer;
    },

    /**
     * Looks up those queues of which nothing fresh is known, with one statement. Returns the names of those that exist.
     */
    async refresh(names: string[]): Promise<Set<string>> {
      const stale = names.filter((name) => !known.isFresh(name));
      const missing = new Set(stale);
      const remember = known.beginLookUp();
      for (const { becomes_fair, ...row } of stale.length > 0
        ? await db.query(statements.byNames, { names: stale })
        : []) {
        missing.delete(row.name);
        if (!becomes_fair) remember(row.name, row);
      }
      return new Set(names.filter((name) => !missing.has(name)));
    },

    /** A queue was changed. Later calls do not join the look-ups that are under way. */
    changed: (): void => asked.clear(),
  };
}
