import { jobNotFound } from '../errors.ts';
import { queueIdOf } from '../ids.ts';
import { LONG_LOCK_WAIT_MS, lockTimeout, orUnavailable } from '../postgres/lockWait.ts';
import { callOf } from '../postgres/pipeline.ts';
import type { Database } from '../postgres/pool.ts';
import { planned, prepared, row } from '../postgres/statements.ts';
import type { QueueConfig } from './queue.ts';

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

/** An entry older than this is looked up again. It serves meanwhile, until it is twice as old. */
const FRESH_MS = 400;

const find = prepared('queues/by_name', row<QueueRow>());
const findById = prepared('queues/by_id', row<QueueRow>());
const makeFair = planned('queues/mark_fair');
const create = prepared('queues/create');

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

/** The queues by name and by id, at most 0.8 s old. A missing queue is not remembered. */
export function queueCache(db: Database) {
  const byName = new Map<string, Entry>();
  const byId = new Map<number, Entry>();
  const asked = new Map<string | number, Promise<Queue | undefined>>();
  const creating = new Map<string, Promise<void>>();
  let changes = 0;

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

  function ask(key: string | number): Promise<Queue | undefined> {
    const underWay = asked.get(key);
    if (underWay) return underWay;
    const asOf = changes;
    const found =
      typeof key === 'string' ? db.query(find, { name: key }) : db.query(findById, { queue_id: key });
    const answer = found
      .then(([row]) => (asOf === changes ? remember(row, key) : row && toQueue(row)))
      .finally(() => asked.get(key) === answer && asked.delete(key));
    asked.set(key, answer);
    return answer;
  }

  async function lookUp(key: string | number): Promise<Queue | undefined> {
    const entry = typeof key === 'string' ? byName.get(key) : byId.get(key);
    const age = entry ? performance.now() - entry.at : Number.POSITIVE_INFINITY;
    if (entry && age < 2 * FRESH_MS) {
      // Nobody waits for this look-up. An outage shows when somebody does.
      if (age > FRESH_MS) ask(key).catch(() => undefined);
      return entry.queue;
    }
    return ask(key);
  }

  /** A queue was changed: drops its entry, and the answers of look-ups that are under way. */
  function changed(name: string): void {
    changes++;
    asked.clear();
    const entry = byName.get(name);
    if (entry) drop(entry.queue);
  }

  /** Creates a queue. An open transaction may have created it: then all requests here share one short wait for its end. */
  function createOnce(name: string): Promise<void> {
    const underWay = creating.get(name);
    if (underWay) return underWay;
    const done = orUnavailable(
      db.pipeline([lockTimeout(LONG_LOCK_WAIT_MS), callOf(create, { name })]),
      'An open transaction has created the queue, and holds it for too long.',
    )
      .then(() => undefined)
      .finally(() => creating.delete(name));
    creating.set(name, done);
    return done;
  }

  return {
    byName: (name: string) => lookUp(name),
    byId: (id: number) => lookUp(id),

    /** The queue of a job. @throws Refusal `job_not_found` for an id of no queue */
    async ofJob(id: string): Promise<Queue> {
      const queueId = queueIdOf(id);
      const queue = queueId === undefined ? undefined : await lookUp(queueId);
      if (!queue) throw jobNotFound(id);
      return queue;
    },

    /** Finds or creates a queue. `hasFairnessKeys` marks it for jobs with fairness keys. */
    async open(name: string, hasFairnessKeys = false): Promise<Queue> {
      for (;;) {
        const queue = await lookUp(name);
        if (queue && (queue.fair || !hasFairnessKeys)) return queue;
        if (queue) await db.query(makeFair, { name });
        else await createOnce(name);
        changed(name);
      }
    },

    changed,
  };
}

export type Queues = ReturnType<typeof queueCache>;
