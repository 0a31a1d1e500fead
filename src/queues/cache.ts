import { isOutage, jobNotFound } from '../errors.ts';
import { queueIdOf } from '../ids.ts';
import { isLockTimeout } from '../postgres/errorClasses.ts';
import { gathering } from '../postgres/gathering.ts';
import { SHORT_LOCK_WAIT_MS } from '../postgres/lockWait.ts';
import type { Database } from '../postgres/pool.ts';
import { planned, prepared, row } from '../postgres/statements.ts';
import { inTurnOf } from '../postgres/transactions.ts';
import type { QueueConfig } from '../verbs/queues.ts';
import { orTooManyQueues } from './numbers.ts';

export interface Queue extends QueueConfig {
  id: number;
  name: string;
  paused: boolean;
  /** Whether it ever had a job with a fairness key. */
  fair: boolean;
  created_at: string;
}

interface QueueRow extends Omit<Queue, 'backoff' | 'rate_limit'> {
  backoff: string;
  rate_jobs: number | null;
  rate_seconds: number | null;
}

interface FoundRow extends QueueRow {
  /** It has jobs with fairness keys from dibs.enqueue. That function cannot note it: it would lock the queue for long. */
  has_marks: boolean;
}

/** An entry that is older is looked up again. Meanwhile it still serves, until it is twice as old. */
const FRESH_MS = 400;

/** One statement looks up this number of queues. */
const MOST_TOGETHER = 1000;

const findByNames = prepared('queues/by_names', row<FoundRow>());
const findByIds = prepared('queues/by_ids', row<FoundRow>());
const makeFair = planned('queues/mark_fair');
const create = prepared('queues/create');
const createAll = planned('queues/create_all');

export const toQueue = ({ backoff, rate_jobs, rate_seconds, ...row }: QueueRow): Queue => ({
  ...row,
  backoff: JSON.parse(backoff),
  rate_limit:
    rate_jobs === null || rate_seconds === null ? null : { jobs: rate_jobs, per_seconds: rate_seconds },
});

interface Entry {
  queue: Queue;
  at: number;
}

/**
 * The queues by name and by id, at most 0.8 s old. A missing queue is not remembered. `opened` hears of queues that may be
 * new.
 */
export function queueCache(db: Database, opened: (name: string) => void = () => undefined) {
  const byName = new Map<string, Entry>();
  const byId = new Map<number, Entry>();
  const asked = new Map<string | number, Promise<Queue | undefined>>();
  const creating = new Map<string, Promise<void>>();
  let changes = 0;

  const findByName = gathering(MOST_TOGETHER, async (names: string[]) => {
    const found = new Map((await db.query(findByNames, { names })).map((row) => [row.name, row]));
    return names.map((name) => found.get(name));
  });
  const findById = gathering(MOST_TOGETHER, async (ids: number[]) => {
    const found = new Map((await db.query(findByIds, { ids })).map((row) => [row.id, row]));
    return ids.map((id) => found.get(id));
  });

  function remember(row: QueueRow | undefined, key: string | number): Queue | undefined {
    const stale = typeof key === 'string' ? byName.get(key) : byId.get(key);
    if (stale) drop(stale.queue);
    if (!row) return undefined;
    const entry = { queue: toQueue(row), at: performance.now() };
    byName.set(entry.queue.name, entry);
    byId.set(entry.queue.id, entry);
    return entry.queue;
  }

  function drop(queue: Queue): void {
    byName.delete(queue.name);
    byId.delete(queue.id);
  }

  /** Notes at a queue that it has jobs with fairness keys, where dibs.enqueue brought them. */
  async function withMark({ has_marks, ...row }: FoundRow): Promise<QueueRow> {
    if (!has_marks) return row;
    // Where somebody has locked the queue, the next look-up tries again.
    await inTurnOf(db, { queue: row.name, tryMs: SHORT_LOCK_WAIT_MS })
      .query(makeFair, { name: row.name })
      .catch((error) => {
        if (isOutage(error)) throw error;
      });
    return { ...row, fair: true };
  }

  function ask(key: string | number): Promise<Queue | undefined> {
    const underWay = asked.get(key);
    if (underWay) return underWay;
    const asOf = changes;
    const found = typeof key === 'string' ? findByName(key) : findById(key);
    const answer = found
      .then((row) => row && withMark(row))
      .then((row) => (asOf === changes ? remember(row, key) : row && toQueue(row)))
      .finally(() => asked.get(key) === answer && asked.delete(key));
    asked.set(key, answer);
    return answer;
  }

  function known(key: string | number): Queue | undefined {
    const entry = typeof key === 'string' ? byName.get(key) : byId.get(key);
    if (!entry) return undefined;
    const age = performance.now() - entry.at;
    if (age >= 2 * FRESH_MS) return undefined;
    // Nobody waits for this look-up, so nobody hears of its failure. The next request that needs one will.
    if (age > FRESH_MS) ask(key).catch(() => undefined);
    return entry.queue;
  }

  const lookUp = async (key: string | number): Promise<Queue | undefined> => known(key) ?? ask(key);

  /** Looks up those queues that are unknown or known for too long, with one statement. Returns the names of those that exist. */
  async function refresh(names: string[]): Promise<Set<string>> {
    const freshSince = performance.now() - FRESH_MS;
    const asked = names.filter((name) => !((byName.get(name)?.at ?? Number.NEGATIVE_INFINITY) > freshSince));
    const missing = new Set(asked);
    const asOf = changes;
    for (const row of asked.length > 0 ? await db.query(findByNames, { names: asked }) : []) {
      missing.delete(row.name);
      if (!row.has_marks && asOf === changes) remember(row, row.name);
    }
    return new Set(names.filter((name) => !missing.has(name)));
  }

  /** The queue as it is now: the look-up begins after the call. What is known of other queues stays known. */
  async function lookNow(name: string): Promise<Queue | undefined> {
    const asOf = changes;
    const found = await findByName(name);
    const row = found && (await withMark(found));
    return asOf === changes ? remember(row, name) : row && toQueue(row);
  }

  /** A queue was changed. Drops its entry, and ignores look-ups that began before. */
  function changed(name: string): void {
    changes++;
    asked.clear();
    const entry = byName.get(name);
    if (entry) drop(entry.queue);
  }

  /** Creates a queue. An open transaction may have created it already. Then all requests here wait for its end together. */
  function createOnce(name: string, isPart: boolean): Promise<void> {
    // No name has a space.
    const key = isPart ? `${name} part` : name;
    const underWay = creating.get(key);
    if (underWay) return underWay;
    const done = orTooManyQueues(inTurnOf(db, { queue: name, isPart }).query(create, { name }))
      .then(() => opened(name))
      .finally(() => creating.delete(key));
    creating.set(key, done);
    return done;
  }

  /** Creates queues with one statement, unless a lock is in its way. Then nothing is done. */
  async function createTogether(names: string[]): Promise<void> {
    const turn = { queue: names[0], tryMs: SHORT_LOCK_WAIT_MS };
    try {
      await orTooManyQueues(inTurnOf(db, turn).query(createAll, { names }));
      for (const name of names) {
        opened(name);
        changed(name);
      }
    } catch (error) {
      if (!isLockTimeout(error)) throw error;
    }
  }

  /** The queue, if it exists. `hasFairnessKeys`: notes at it that it has jobs with such. */
  async function find(name: string, hasFairnessKeys = false, isPart = false): Promise<Queue | undefined> {
    for (;;) {
      const queue = await lookUp(name);
      if (!queue || queue.fair || !hasFairnessKeys) return queue;
      await inTurnOf(db, { queue: name, isPart }).query(makeFair, { name });
      changed(name);
    }
  }

  /**
   * Finds or creates a queue. `hasFairnessKeys`: notes at it that it has jobs with such. `isPart`: this is a part
   * of a transaction. It fails (isLockTimeout) where somebody has locked the queue.
   */
  async function open(name: string, hasFairnessKeys = false, isPart = false): Promise<Queue> {
    for (;;) {
      const queue = await find(name, hasFairnessKeys, isPart);
      if (queue) return queue;
      await createOnce(name, isPart);
      changed(name);
    }
  }

  return {
    /** Whether the queue exists, as far as is known without a look. */
    isKnown: (name: string) => known(name) !== undefined,
    byName: (name: string) => lookUp(name),
    byId: (id: number) => lookUp(id),
    lookNow,
    refresh,

    /** The queue of a job, at once if it is known. @throws Refusal `job_not_found` for an id of no queue */
    ofJob(id: string): Queue | Promise<Queue> {
      const queueId = queueIdOf(id);
      if (queueId === undefined) throw jobNotFound(id);
      return (
        known(queueId) ??
        ask(queueId).then((queue) => {
          if (!queue) throw jobNotFound(id);
          return queue;
        })
      );
    },

    find,
    open,

    /** Finds or creates queues, as `open` does, with few statements. `fair` has the names of those with fairness keys. */
    async openAll(names: string[], fair: Set<string>, isPart = false): Promise<Queue[]> {
      if (names.length > 1) {
        await createTogether(names);
        await refresh(names);
      }
      const queues: Queue[] = [];
      for (const name of names) queues.push(await open(name, fair.has(name), isPart));
      return queues;
    },

    changed,
  };
}

export type Queues = ReturnType<typeof queueCache>;
