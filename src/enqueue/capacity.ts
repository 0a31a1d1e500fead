import { createBatcher } from '../batching/batcher.ts';
import { queueFull, Refusal } from '../errors.ts';
import { isTimeLimit } from '../postgres/errorClasses.ts';
import { callOf, timeLimit } from '../postgres/pipeline.ts';
import type { Database } from '../postgres/pool.ts';
import { prepared, row } from '../postgres/statements.ts';
import { textArray } from '../postgres/textArray.ts';
import type { Queue } from '../queues/cache.ts';
import { firstOfKeys } from './insert.ts';
import { hasUniqueKey, type JobToInsert, queueIdsOf } from './newJob.ts';
import { weigh } from './ways.ts';

const statements = {
  capacity: prepared('enqueue/capacity', row<{ capacity: number | null }>()),
  aboveFloors: prepared('enqueue/capacity_above_floors', row<{ capacity: number | null }>()),
  heldKeys: prepared('enqueue/held_keys', row<{ unique_key: string }>()),
};

/** After a count, a replica inserts up to this fraction of the capacity that it found before it counts again. */
const UNCOUNTED_FRACTION = 1 / 16;
/** That allowance, and the finding that a queue is full, hold for this many times as long as the count took. */
const HOLD = 10;
const LONGEST_HOLD_MS = 1000;

/** A count may take this long. After one that did not end, counts leave out what lies below the stored scan floors for a while. */
const COUNT_LIMIT_MS = 500;
const ABOVE_FLOORS_MS = 10_000;

/** What one request brings to a queue: its jobs without a delay, and its weight in a batch. */
interface Request {
  jobs: number;
  weight: number;
}

/** What this replica knows of a queue: the requests that insert into it at this moment, and what the last count found. */
interface Known {
  requestsUnderWay: number;
  jobsUnderWay: number;
  /** This number of jobs may be inserted before the next count. */
  uncounted: number;
  full: boolean;
  /** Until then, `uncounted` and `full` hold. */
  until: number;
  /** Until then, counts leave out what lies below the stored scan floors. */
  aboveFloorsUntil: number;
  /** Is called when no request is under way any more. */
  allEnded: () => void;
}

const nothingKnown = (): Known => ({
  requestsUnderWay: 0,
  jobsUnderWay: 0,
  uncounted: 0,
  full: false,
  until: 0,
  aboveFloorsUntil: 0,
  allEnded: () => undefined,
});

function begin(known: Known, jobs: number): void {
  known.requestsUnderWay++;
  known.jobsUnderWay += jobs;
}

function end(known: Known, jobs: number): void {
  known.requestsUnderWay--;
  known.jobsUnderWay -= jobs;
  if (known.requestsUnderWay === 0) known.allEnded();
}

const whenAllEnded = (known: Known) =>
  new Promise<void>((resolve) => {
    if (known.requestsUnderWay === 0) resolve();
    else known.allEnded = resolve;
  });

/** The free places of a queue. None when it has no max_ready any more. */
async function freePlaces(db: Database, queue_id: number, known: Known): Promise<number | undefined> {
  if (performance.now() >= known.aboveFloorsUntil)
    try {
      const count = callOf(statements.capacity, { queue_id });
      const [, rows] = await db.pipeline([timeLimit(COUNT_LIMIT_MS), count]);
      return rows?.[0]?.capacity as number | undefined;
    } catch (error) {
      if (!isTimeLimit(error)) throw error;
      known.aboveFloorsUntil = performance.now() + ABOVE_FLOORS_MS;
    }
  const [row] = await db.query(statements.aboveFloors, { queue_id });
  return row?.capacity ?? undefined;
}

/** Begins the requests for which there certainly is capacity. Tells for each request whether it has begun. */
async function count(db: Database, queueId: number, known: Known, requests: Request[]): Promise<boolean[]> {
  const { jobsUnderWay } = known;
  known.uncounted = 0;
  const started = performance.now();
  const places = await freePlaces(db, queueId, known);
  const ended = performance.now();
  let left = (places ?? Number.POSITIVE_INFINITY) - jobsUnderWay;
  const begun = requests.map(({ jobs }) => {
    if (left <= 0 || jobs > left) return false;
    left -= jobs;
    begin(known, jobs);
    return true;
  });
  known.uncounted = Math.max(0, left * UNCOUNTED_FRACTION);
  // Until somebody is refused, a claim may free a place that nobody else wants.
  known.full = left <= 0 && jobsUnderWay === 0 && begun.includes(false);
  known.until = ended + Math.min(HOLD * (ended - started), LONGEST_HOLD_MS);
  return begun;
}

/** The jobs whose unique keys no other job holds. */
async function withoutDuplicates(db: Database, queue: Queue, jobs: JobToInsert[]): Promise<JobToInsert[]> {
  const unique_keys = jobs.flatMap((job) => job.unique_key ?? []);
  if (unique_keys.length === 0) return jobs;
  const rows = await db.query(statements.heldKeys, {
    queue_id: queue.id,
    unique_keys: textArray(unique_keys),
  });
  const held = new Set(rows.map((row) => row.unique_key));
  return jobs.filter((job) => !hasUniqueKey(job) || !held.has(job.unique_key as string));
}

/** What the jobs of one queue bring to it. `now` is the database's time in milliseconds. */
const requestOf = (jobs: JobToInsert[], now: number): Request => ({
  jobs: jobs.filter((job) => job.delay_seconds === 0 && (job.run_at?.getTime() ?? 0) <= now).length,
  weight: weigh(jobs),
});

/** The requests that are under way, and what is known of their queues. */
function createRequests(db: Database) {
  const queues = new Map<number, Known>();

  function knownOf(queueId: number): Known {
    let known = queues.get(queueId);
    if (!known) {
      known = nothingKnown();
      queues.set(queueId, known);
    }
    return known;
  }

  /** One count serves all requests that have gathered. Tells for each request whether it has begun. */
  const beginAfterCount = createBatcher<Request, boolean>({
    weigh: ({ weight }) => weight,
    maxWeight: 1,
    async run(queueId, requests) {
      const known = knownOf(queueId);
      const alone = known.requestsUnderWay === 0;
      const begun = await count(db, queueId, known, requests);
      if (alone || !begun.includes(false)) return begun;
      // The count may have seen the jobs that were under way, or not. It is exact once all of these requests have ended.
      for (const [i, { jobs }] of requests.entries()) if (begun[i]) end(known, jobs);
      known.uncounted = 0;
      await whenAllEnded(known);
      return count(db, queueId, known, requests);
    },
  });

  /** Begins a request. @throws Refusal `queue_full` */
  async function beginOrRefuse(queue: Queue, known: Known, request: Request): Promise<void> {
    if (performance.now() < known.until) {
      if (known.full) throw queueFull(queue.name);
      if (request.jobs < known.uncounted) {
        known.uncounted -= request.jobs;
        begin(known, request.jobs);
        return;
      }
    }
    if (!(await beginAfterCount(queue.id, request))) throw queueFull(queue.name);
  }

  return { knownOf, beginOrRefuse };
}

/** Keeps enqueues within the `max_ready` of their queues: exact but for the requests that are under way. */
export function createCapacity(db: Database) {
  const { knownOf, beginOrRefuse } = createRequests(db);

  /** Begins the request of these jobs of one queue, and returns it. A duplicate needs no capacity. @throws Refusal `queue_full` */
  async function beginJobs(queue: Queue, known: Known, jobs: JobToInsert[], now: number) {
    const request = requestOf(jobs, now);
    try {
      await beginOrRefuse(queue, known, request);
      return request;
    } catch (error) {
      if (!(error instanceof Refusal && error.code === 'queue_full')) throw error;
      const fresh = await withoutDuplicates(db, queue, jobs);
      if (fresh.length === jobs.length) throw error;
      const smaller = requestOf(fresh, now);
      if (fresh.length > 0) await beginOrRefuse(queue, known, smaller);
      else begin(known, smaller.jobs);
      return smaller;
    }
  }

  async function withinOne<T>(
    queue: Queue,
    jobs: JobToInsert[],
    now: number,
    work: () => Promise<T>,
  ): Promise<T> {
    if (queue.max_ready === null) return work();
    const known = knownOf(queue.id);
    const begun = await beginJobs(queue, known, firstOfKeys(jobs), now);
    try {
      return await work();
    } finally {
      end(known, begun.jobs);
    }
  }

  return {
    /**
     * Runs work that inserts these jobs, if all of their queues have capacity for them. It asks the queues in the order
     * of their ids. `now` is the database's time in milliseconds. @throws Refusal `queue_full`
     */
    within<T>(jobs: JobToInsert[], now: number, work: () => Promise<T>): Promise<T> {
      if (jobs.every(({ queue }) => queue.max_ready === null)) return work();
      let inner = work;
      for (const id of queueIdsOf(jobs).reverse()) {
        const own = jobs.filter(({ queue }) => queue.id === id);
        const next = inner;
        inner = () => withinOne(own[0]?.queue as Queue, own, now, next);
      }
      return inner();
    },
  };
}

export type Capacity = ReturnType<typeof createCapacity>;
