import { queueIdOf } from '../ids.ts';
import type { JobState } from '../job.ts';
import type { Event } from '../verbs/counting.ts';
import { add, type Counts, createEventCounts } from './eventCounts.ts';
import { Histogram } from './histogram.ts';
import { createJobTimes } from './jobTimes.ts';

/*
 * What this replica counts as it happens: plain numbers by the id of the queue. Whoever knows what a statement did
 * tells it here, once for each statement and after its commit. totals.ts adds the numbers to those of the other
 * replicas.
 */

const ROWS = [1, 2, 5, 10, 25, 50, 100, 250, 500, 1000];

const addDead = (of: Float64Array, rows: { state: JobState }[]) => {
  for (const { state } of rows) if (state === 'dead') add(of, 'dead', 1);
};

/** `now` is the time of the database in milliseconds. */
export function createTally(now: () => number) {
  const counts = createEventCounts();
  const { claimed, ended, dropped, ...times } = createJobTimes(now);
  /** The queue of the last enqueue, and its numbers. Most enqueues are for the same queue as the one before. */
  let lastName: string | undefined;
  let last: Float64Array = new Float64Array(0);
  const tripRows = new Histogram(ROWS);

  return {
    ...times,

    /** An enqueue has committed these jobs. A deduplicated one stands for a job that was there. */
    enqueued(jobs: { id: string; queue: string; deduplicated?: true | undefined }[]): void {
      for (const job of jobs) {
        if (job.queue !== lastName) {
          last = counts.of(queueIdOf(job.id) as number);
          lastName = job.queue;
        }
        add(last, job.deduplicated ? 'deduplicated' : 'enqueued', 1);
      }
    },

    claimed(queueId: number, rows: { id: string; run_at: string }[]): void {
      if (rows.length === 0) return;
      add(counts.of(queueId), 'claimed', rows.length);
      claimed(queueId, rows);
    },

    acked(queueId: number, rows: { id: string }[]): void {
      if (rows.length === 0) return;
      add(counts.of(queueId), 'acked', rows.length);
      ended(queueId, rows);
    },

    /** `late`: the jobs were dead already, so they are not counted as dead once more. */
    nacked(queueId: number, rows: { id: string; state: JobState }[], late = false): void {
      const of = counts.of(queueId);
      add(of, 'nacked', rows.length);
      if (!late) addDead(of, rows);
      ended(queueId, rows);
    },

    released(queueId: number, rows: { id: string }[]): void {
      add(counts.of(queueId), 'released', rows.length);
      dropped(rows);
    },

    /** Leases ran out, and the sweeper has taken them back. */
    rescued(queueId: number, rows: { id: string; state: JobState }[]): void {
      if (rows.length === 0) return;
      const of = counts.of(queueId);
      add(of, 'rescued', rows.length);
      addDead(of, rows);
      dropped(rows);
    },

    /** Counts jobs to which this happened. It is for events that need no more than their number. */
    counting:
      (...events: Event[]) =>
      (queueId: number, rows: unknown[]): void => {
        if (rows.length === 0) return;
        const of = counts.of(queueId);
        for (const event of events) add(of, event, rows.length);
      },

    /** A round trip has carried so many jobs. */
    roundTrip: (rows: number): void => tripRows.observe(rows),

    tripRows,

    /** Takes the numbers that were counted since the last time. */
    take(): Counts {
      lastName = undefined;
      return counts.take();
    },

    hasCounts: counts.hasCounts,

    putBack: counts.putBack,
  };
}

export type Tally = ReturnType<typeof createTally>;
