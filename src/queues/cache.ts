import { jobNotFound, unavailable } from '../errors.ts';
import { queueIdOf } from '../ids.ts';
import type { Database } from '../postgres/pool.ts';
import { inTurnOf } from '../postgres/transactions.ts';
import { createCreation, createNumbered, type NumberedCreation } from './creation.ts';
import { createKnownQueues, type QueueKey } from './known.ts';
import { createLookUps, noteFair } from './lookUps.ts';
import type { Queue } from './queue.ts';

export type { Queue };

/** A queue that was created so often, and is not there each time, is deleted again and again, or cannot be created. */
const MOST_CREATIONS = 10;

/** The queues by name and by id, at most 0.8 s old. `opened` hears of queues that may be new. */
export function queueCache(
  db: Database,
  opened: (name: string) => void = () => undefined,
  numbered?: NumberedCreation,
) {
  const known = createKnownQueues();
  const lookUps = createLookUps(db, known);
  const created = (name: string) => {
    opened(name);
    changed(name);
  };
  const create = numbered ? createNumbered(numbered, created) : createCreation(db, created);

  /** A queue was changed. Drops what is known of it, and ignores look-ups that began before. */
  function changed(name: string): void {
    known.changed(name);
    lookUps.changed();
  }

  /** Nobody waits for this look-up, so nobody hears of its failure. The next request that needs one will. */
  const lookUpAgain = (key: QueueKey): void => void lookUps.look(key).catch(() => undefined);

  const lookUp = async (key: QueueKey): Promise<Queue | undefined> =>
    known.get(key, lookUpAgain) ?? lookUps.look(key);

  /** The queue, if it exists. `hasFairnessKeys`: notes at the queue that it has jobs with fairness keys. */
  async function find(name: string, hasFairnessKeys = false, isPart = false): Promise<Queue | undefined> {
    for (;;) {
      const queue = await lookUp(name);
      if (queue && numbered?.isAnother(queue)) return undefined;
      if (!queue || queue.fair || !hasFairnessKeys) return queue;
      await inTurnOf(db, { queue: name, isPart }).query(noteFair, { name });
      changed(name);
    }
  }

  /**
   * Finds or creates a queue. `hasFairnessKeys`: notes at the queue that it has jobs with fairness keys. `isPart`: this
   * is a part of a transaction. It fails (isLockTimeout) where somebody has locked the queue.
   * @throws Refusal `unavailable` for a queue that does not stay
   */
  async function open(name: string, hasFairnessKeys = false, isPart = false): Promise<Queue> {
    for (let creations = 0; ; creations++) {
      const queue = await find(name, hasFairnessKeys, isPart);
      if (queue) return queue;
      if (creations === MOST_CREATIONS)
        throw unavailable(`Queue ${name} was created, and was not there. Try again later.`);
      await create.one(name, isPart);
    }
  }

  return {
    /** Whether the queue exists, as far as is known without a look. */
    isKnown: (name: string) => known.get(name, lookUpAgain) !== undefined,
    /** The queue as it was when it was looked up last, however long ago. */
    lastKnown: known.last,
    byName: (name: string) => lookUp(name),
    byId: (id: number) => lookUp(id),
    /** The queue as it is now: the look-up begins after the call. What is known of other queues stays known. */
    lookNow: (name: string) => lookUps.lookNow(name),
    refresh: lookUps.refresh,

    /** The queue of a job, at once if it is known. @throws Refusal `job_not_found` for an id of no queue */
    ofJob(id: string): Queue | Promise<Queue> {
      const queueId = queueIdOf(id);
      if (queueId === undefined) throw jobNotFound(id);
      return (
        known.get(queueId, lookUpAgain) ??
        lookUps.look(queueId).then((queue) => {
          if (!queue) throw jobNotFound(id);
          return queue;
        })
      );
    },

    find,
    open,

    /**
     * Finds or creates queues, as `open` does, with few statements. `fair` has the names of those with fairness keys.
     */
    async openAll(names: string[], fair: Set<string>, isPart = false): Promise<Queue[]> {
      if (names.length > 1) {
        await create.all(names);
        await lookUps.refresh(names);
      }
      const queues: Queue[] = [];
      for (const name of names) queues.push(await open(name, fair.has(name), isPart));
      return queues;
    },

    changed,
  };
}

export type Queues = ReturnType<typeof queueCache>;
