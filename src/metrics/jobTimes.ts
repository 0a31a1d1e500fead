import { createLeaseTimes } from '../leaseTimes.ts';
import { Histogram } from './histogram.ts';

/** The bounds of the histograms, in seconds: from a time that nobody notices up to 2 hours. */
const SECONDS = [0.005, 0.025, 0.1, 0.5, 1, 5, 15, 60, 300, 1800, 7200];

/** The times of the jobs of a queue. */
export interface QueueTimes {
  /** From ready to claimed. */
  wait: Histogram;
  /** From claimed to settled. */
  work: Histogram;
}

const newTimes = (): QueueTimes => ({ wait: new Histogram(SECONDS), work: new Histogram(SECONDS) });

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

/** How long jobs wait, and how long the work takes. `now` is the time of the database in milliseconds. */
export function createJobTimes(now: () => number) {
  const timeOf = timeReader();
  /** When each lease was given, to tell how long the work took. */
  const leases = createLeaseTimes();
  const rest = newTimes();
  const own = new Map<number, QueueTimes>();

  const timesOf = (queueId: number) => own.get(queueId) ?? rest;

  return {
    claimed(queueId: number, rows: { id: string; run_at: string }[]): void {
      const { wait } = timesOf(queueId);
      const time = now();
      for (const { id, run_at } of rows) {
        leases.note(id, time);
        wait.observe(Math.max(0, time - timeOf(run_at)) / 1000);
      }
    },

    ended(queueId: number, rows: { id: string }[]): void {
      const { work } = timesOf(queueId);
      const time = now();
      for (const { id } of rows) {
        const since = leases.take(id);
        if (since !== undefined) work.observe(Math.max(0, time - since) / 1000);
      }
    },

    /** These leases ended without an attempt. */
    dropped(rows: { id: string }[]): void {
      for (const { id } of rows) leases.take(id);
    },

    /** The times of queues that have their own, by id. */
    own,

    /** The times of all the other queues together. */
    rest,

    /** From now on, these queues have times of their own, and no others. */
    keepTimesOf(queueIds: number[]): void {
      const kept = new Set(queueIds);
      for (const id of own.keys()) if (!kept.has(id)) own.delete(id);
      for (const id of kept) if (!own.has(id)) own.set(id, newTimes());
    },
  };
}
