import type { Enqueue } from '../enqueue/enqueue.ts';
import type { JobToInsert } from '../enqueue/newJob.ts';
import { QueueGone } from '../errors.ts';
import type { Arrivals } from '../floor/arrivals.ts';
import type { GroupHeads, Moved } from '../groups/heads.ts';
import type { Job } from '../job.ts';
import type { RareFields } from '../jobShapes.ts';
import { SHORT_LOCK_WAIT_MS } from '../postgres/lockWait.ts';
import type { Database, Db } from '../postgres/pool.ts';
import { planned, row } from '../postgres/statements.ts';
import { inTurnOf } from '../postgres/transactions.ts';
import type { Queue, Queues } from '../queues/cache.ts';
import { AS_QUEUE_SAYS } from '../queues/elsewhere.ts';
import type { Notifier } from '../replicas/notifier.ts';
import { putMoved } from './moved.ts';

const arrive = planned('relay/arrive', row<{ is_new: boolean; there: string[] }>());

/** A job that waited in another database: as it was asked for there. */
export interface RelayedJob extends RareFields {
  place: number;
  id: string;
  /** The line of a job that an operation moves. Then all below is null. */
  moved: string | null;
  on_duplicate: string | null;
  unique_until: string | null;
  waited_seconds: number;
  /** For how long a client still waits for its end. */
  awaited_seconds: number | null;
  delay_seconds: number;
  run_at: string | null;
  priority: number;
  max_attempts: number;
  headers: string;
  payload: string;
}

/** Jobs for one queue of this database. A `source` sends the same ones under the same number, and others under a higher one. */
export interface Parcel {
  source: string;
  queueId: number;
  queue: string;
  number: number;
  /** When it was read, on the clock of this process. Its jobs have waited for longer since. */
  readAt: number;
  jobs: RelayedJob[];
}

/** The jobs of a parcel: new ones by the ids that they came with, and moved ones. */
interface Arrived {
  made: Map<string, Job>;
  moved: Moved[];
}

/** As it is when its parcel arrives. */
const asOfNow = (job: RelayedJob, { readAt }: Parcel): RelayedJob => ({
  ...job,
  waited_seconds: job.waited_seconds + (performance.now() - readAt) / 1000,
});

/** The time that a job waited counts. */
const leftOf = (seconds: number, { waited_seconds }: RelayedJob) => seconds - waited_seconds;

const toInsert = (job: RelayedJob, queue: Queue): JobToInsert => ({
  id: job.id,
  queue,
  delay_seconds: Math.max(0, leftOf(job.delay_seconds, job)),
  run_at: job.run_at === null ? null : new Date(job.run_at),
  priority: job.priority,
  max_attempts: job.max_attempts === AS_QUEUE_SAYS ? queue.max_attempts : job.max_attempts,
  headers: job.headers,
  payload: job.payload,
  awaited_seconds: job.awaited_seconds,
  backoff: job.backoff,
  unique_key: job.unique_key,
  unique_for_seconds: job.unique_for_seconds,
  on_duplicate: job.on_duplicate,
  unique_until: job.unique_until,
  batch: null,
  group: job.group,
  fairness_key: job.fairness_key,
  expires_in_seconds: job.expires_in_seconds === null ? null : leftOf(job.expires_in_seconds, job),
});

/**
 * Jobs that one statement may insert, in their order: moved ones, or new ones with ascending ids. That statement keeps the
 * order of the ids, and those of several replicas may not ascend.
 */
function* runsOf(jobs: RelayedJob[]): Generator<RelayedJob[]> {
  let run: RelayedJob[] = [];
  for (const job of jobs) {
    const last = run.at(-1);
    const isMoved = job.moved !== null;
    if (last && (isMoved !== (last.moved !== null) || (!isMoved && job.id < last.id))) {
      yield run;
      run = [];
    }
    run.push(job);
  }
  if (run.length > 0) yield run;
}

/** Takes jobs from other databases for the queues of this one. */
export function createReceive(context: {
  db: Database;
  queues: Queues;
  arrivals: Arrivals;
  groups: GroupHeads;
  notifier: Pick<Notifier, 'ready'>;
  rest: { asked(makesDue: boolean): Promise<void> | undefined };
  insert: Enqueue['insert'];
  inserted: Enqueue['inserted'];
}) {
  const { db, queues, arrivals, groups, notifier, rest, insert, inserted } = context;

  /** A queue may have its place, and not be created yet. @throws QueueGone */
  async function queueOf({ queueId, queue: name, jobs }: Parcel): Promise<Queue> {
    const isFair = jobs.some((job) => job.fairness_key !== null || job.moved?.includes('"fairness_key"'));
    const known = await queues.byId(queueId);
    // Home has forgotten a queue, and given its number to another one. Jobs of that one wait.
    if (known && known.name !== name) throw new QueueGone();
    const queue = known && (known.fair || !isFair) ? known : await queues.open(name, isFair);
    if (queue.id !== queueId) throw new QueueGone();
    return queue;
  }

  /**
   * Notes that a parcel has arrived. Returns those of its jobs that have not. Its database may have been set back in time, and sends
   * jobs again under a higher number. @throws QueueGone
   */
  async function note(transaction: Db, parcel: Parcel): Promise<RelayedJob[]> {
    const { source, queueId, number, jobs } = parcel;
    const ids = jobs.map(({ id }) => id).toSorted();
    const [noted] = await transaction.query(arrive, { queue_id: queueId, source, number, ids });
    if (!noted) throw new QueueGone();
    const there = new Set(noted.there);
    return noted.is_new ? jobs.filter(({ id }) => !there.has(id)) : [];
  }

  async function insertAll(transaction: Db, queue: Queue, jobs: RelayedJob[]): Promise<Arrived> {
    const made = new Map<string, Job>();
    const moved: Moved[] = [];
    for (const run of runsOf(jobs)) {
      if (run[0]?.moved) {
        const lines = run.map(({ id, moved: line }) => ({ id, line: line as string }));
        moved.push(...(await putMoved(transaction, queue, lines)));
        continue;
      }
      const rows = await insert(
        transaction,
        queue.id,
        run.map((job) => toInsert(job, queue)),
      );
      for (const [i, { id }] of run.entries()) made.set(id, rows[i] as Job);
    }
    return { made, moved };
  }

  /**
   * Inserts the jobs of a parcel, in one transaction with the note that it has arrived. Returns the new ones as they are here, by
   * the ids that they came with: none when the parcel had arrived before. A full queue takes them. In place of a duplicate, it
   * returns the job that holds its key. @throws QueueGone
   */
  return async function receive(parcel: Parcel): Promise<Map<string, Job>> {
    const { queueId } = parcel;
    await rest.asked(true);
    const queue = await queueOf(parcel);
    const turn = { queue: queueId, tryMs: SHORT_LOCK_WAIT_MS };
    const { made, moved } = await arrivals.watch(
      () => [queueId],
      async () => {
        const done = await inTurnOf(db, turn).transaction(async (transaction) => {
          const arriving = await note(transaction, parcel);
          return insertAll(
            transaction,
            queue,
            arriving.map((job) => asOfNow(job, parcel)),
          );
        });
        await groups.lead([...done.made.values()]);
        return done;
      },
    );
    inserted([...made.values()]);
    if (moved.some(({ state }) => state === 'ready')) notifier.ready(queue.name);
    await groups.advanceAfter([...made.values(), ...moved]);
    return made;
  };
}

export type Receive = ReturnType<typeof createReceive>;
