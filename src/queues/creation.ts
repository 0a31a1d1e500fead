import { isLockTimeout } from '../postgres/errorClasses.ts';
import { SHORT_LOCK_WAIT_MS } from '../postgres/lockWait.ts';
import type { Database } from '../postgres/pool.ts';
import { planned, prepared } from '../postgres/statements.ts';
import { inTurnOf } from '../postgres/transactions.ts';
import { orTooManyQueues } from './numbers.ts';

const statements = {
  create: prepared('queues/create'),
  createAll: planned('queues/create_all'),
};

/** Creates queues that are missing. `created` hears of each, also of one that somebody else has created meanwhile. */
export function createCreation(db: Database, created: (name: string) => void) {
  const underWay = new Map<string, Promise<void>>();

  return {
    /**
     * Creates a queue. An open transaction may have created it already. Then all requests here wait for its end
     * together. `isPart`: this is a part of a transaction, and fails (isLockTimeout) in place of the wait.
     */
    one(name: string, isPart: boolean): Promise<void> {
      // Parts of transactions share a creation with each other only. No name has a space, so this is no other queue's
      // name.
      const key = isPart ? `${name} part` : name;
      const begun = underWay.get(key);
      if (begun) return begun;
      const turn = { queue: name, isPart };
      const done = orTooManyQueues(inTurnOf(db, turn).query(statements.create, { name }))
        .then(() => created(name))
        .finally(() => underWay.delete(key));
      underWay.set(key, done);
      return done;
    },

    /** Creates queues with one statement. Where a lock is in its way, it does nothing. */
    async all(names: string[]): Promise<void> {
      const turn = { queue: names[0], tryMs: SHORT_LOCK_WAIT_MS };
      try {
        await orTooManyQueues(inTurnOf(db, turn).query(statements.createAll, { names }));
        for (const name of names) created(name);
      } catch (error) {
        if (!isLockTimeout(error)) throw error;
      }
    },
  };
}

/** How queues are created whose numbers come from elsewhere. */
export interface NumberedCreation {
  /** Creates those that are missing. */
  create(names: string[]): Promise<void>;
  /** Whether a queue that is there should have another number, as far as is known. It is created before it is used. */
  isAnother(queue: { id: number; name: string }): boolean;
}

/** The same as `createCreation`, where the numbers of queues come from elsewhere. */
export function createNumbered({ create }: NumberedCreation, created: (name: string) => void) {
  const underWay = new Map<string, Promise<void>>();
  const all = async (names: string[]): Promise<void> => {
    await orTooManyQueues(create(names));
    for (const name of names) created(name);
  };
  return {
    all,
    /** All requests here wait for one creation together. */
    one(name: string): Promise<void> {
      const done = underWay.get(name) ?? all([name]).finally(() => underWay.delete(name));
      underWay.set(name, done);
      return done;
    },
  };
}
