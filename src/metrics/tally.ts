import { queueIdOf } from '../ids.ts';
import type { JobState } from '../job.ts';
import { createLeaseTimes } from '../leaseTimes.ts';
import { EVENTS, type Event } from '../verbs/counting.ts';
import { Histogram } from './histogram.ts';

/*
 * What this replica counts as it happens: plain numbers by the id of the queue. Whoever knows what a statement did tells it
 * here, once for each statement and after its commit. totals.ts adds the numbers to those of the other replicas.
 */

const at = Object.fromEntries(EVENTS.map((event, i) => [event, i])) as Record<Event, number>;

/** Seconds from a job that nobody notices to one that waited through a night. */
const SECONDS = [0.005, 0.025, 0.1, 0.5, 1, 5, 15, 60, 300, 1800, 7200];
const ROWS = [1, 2, 5, 10, 25, 50, 100, 250, 500, 1000];

/** The times of the jobs of a queue. */
export interface QueueTimes {
  /** From ready to claimed. */
  wait: Histogram;
  /** From claimed to settled. */
  work: Histogram;
}

const newTimes = (): QueueTimes => ({ wait: new Histogram(SECONDS), work: new Histogram(SECONDS) });

/** Numbers by queue. Each array has a number for each event. */
export type Counts = Map<number, Float64Array>;

/** The length of `2026-11-21T09:30:`. */
const MINUTE_LENGTH = 17;
const ZEROS = 48 * 11_111;

/** Reads times in RFC 3339, as statements return them. It knows the minute of the last one: Date.parse takes 0.4 us. */
function timeReader(): (text: string) => number {
  let minute = '';
  let base = 0;
  return (text) => {
    if (minute === '' || !text.startsWith(minute)) {
      minute = text.slice(0, MINUTE_LENGTH);
      base = Date.parse(`${minute}00.000Z`);
    }
    const digits =
      text.charCodeAt(17) * 10_000 +
      text.charCodeAt(18) * 1000 +
      text.charCodeAt(20) * 100 +
      text.charCodeAt(21) * 10 +
      text.charCodeAt(22);
    return base + digits - ZEROS;
  };
}

/** `now` is the time of the database in milliseconds. */
export function createTally(now: () => number) {
  let counts: Counts = new Map();
  /** The queue of the last enqueue, and its numbers. Most enqueues are for the same queue as the one before. */
  let lastName: string | undefined;
  let last: Float64Array = new Float64Array(0);
  const timeOf = timeReader();
  /** When each lease was given, to tell how long the work took. */
  const leases = createLeaseTimes();
  const rest = newTimes();
  const own = new Map<number, QueueTimes>();
  const tripRows = new Histogram(ROWS);

  function countsOf(queueId: number): Float64Array {
    let found = counts.get(queueId);
    if (!found) {
      found = new Float64Array(EVENTS.length);
      counts.set(queueId, found);
    }
    return found;
  }

  const add = (of: Float64Array, event: Event, jobs: number) => {
    of[at[event]] = (of[at[event]] as number) + jobs;
  };

  const timesOf = (queueId: number) => own.get(queueId) ?? rest;

  const addDead = (of: Float64Array, rows: { state: JobState }[]) => {
    for (const { state } of rows) if (state === 'dead') add(of, 'dead', 1);
  };

  function ended(queueId: number, rows: { id: string }[]): void {
    const { work } = timesOf(queueId);
    const time = now();
    for (const { id } of rows) {
      const since = leases.take(id);
      if (since !== undefined) work.observe(Math.max(0, time - since) / 1000);
    }
  }

  return {
    /** An enqueue has committed these jobs. A deduplicated one stands for a job that was there. */
    enqueued(jobs: { id: string; queue: string; deduplicated?: true | undefined }[]): void {
      for (const job of jobs) {
        if (job.queue !== lastName) {
          last = countsOf(queueIdOf(job.id) as number);
          lastName = job.queue;
        }
        add(last, job.deduplicated ? 'deduplicated' : 'enqueued', 1);
      }
    },

    claimed(queueId: number, rows: { id: string; run_at: string }[]): void {
      if (rows.length === 0) return;
      add(countsOf(queueId), 'claimed', rows.length);
      const { wait } = timesOf(queueId);
      const time = now();
      for (const { id, run_at } of rows) {
        leases.note(id, time);
        wait.observe(Math.max(0, time - timeOf(run_at)) / 1000);
      }
    },

    acked(queueId: number, rows: { id: string }[]): void {
      if (rows.length === 0) return;
      add(countsOf(queueId), 'acked', rows.length);
      ended(queueId, rows);
    },

    /** `late`: the jobs were dead before, so they do not become dead now. */
    nacked(queueId: number, rows: { id: string; state: JobState }[], late = false): void {
      const of = countsOf(queueId);
      add(of, 'nacked', rows.length);
      if (!late) addDead(of, rows);
      ended(queueId, rows);
    },

    released(queueId: number, rows: { id: string }[]): void {
      add(countsOf(queueId), 'released', rows.length);
      for (const { id } of rows) leases.take(id);
    },

    /** Leases ran out, and the sweeper has taken them back. */
    rescued(queueId: number, rows: { id: string; state: JobState }[]): void {
      if (rows.length === 0) return;
      const of = countsOf(queueId);
      add(of, 'rescued', rows.length);
      addDead(of, rows);
      for (const { id } of rows) leases.take(id);
    },

    /** The time of these jobs was over before anybody claimed them. */
    expired(queueId: number, rows: unknown[]): void {
      if (rows.length === 0) return;
      const of = countsOf(queueId);
      add(of, 'expired', rows.length);
      add(of, 'dead', rows.length);
    },

    /** A round trip has carried so many jobs. */
    roundTrip: (rows: number): void => tripRows.observe(rows),

    tripRows,

    /** The times of queues that have their own, by id. */
    own,

    /** The times of all the other queues together. */
    rest,

    /** From now on exactly these queues have times of their own. */
    keepTimesOf(queueIds: number[]): void {
      const kept = new Set(queueIds);
      for (const id of own.keys()) if (!kept.has(id)) own.delete(id);
      for (const id of kept) if (!own.has(id)) own.set(id, newTimes());
    },

    /** Takes the numbers that were counted since the last time. */
    take(): Counts {
      const taken = counts;
      counts = new Map();
      lastName = undefined;
      return taken;
    },

    /** Whether anything was counted since the last `take`. */
    hasCounts: (): boolean => counts.size > 0,

    /** Puts numbers back that could not be added to the totals. */
    putBack(taken: Counts): void {
      for (const [queueId, numbers] of taken) {
        const of = countsOf(queueId);
        for (const [i, n] of numbers.entries()) of[i] = (of[i] as number) + n;
      }
    },
  };
}

export type Tally = ReturnType<typeof createTally>;
