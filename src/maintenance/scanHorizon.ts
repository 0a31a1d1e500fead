import type { Clock } from '../postgres/clock.ts';
import { isTimeLimit } from '../postgres/errorClasses.ts';
import { restAfter } from '../shareOfTime.ts';

/**
 * A lease or a schedule may be committed after a sweep has passed its time. No statement runs as long as this, so a
 * sweep that begins this much earlier finds it. What is committed even later is found by a full scan.
 */
const MARGIN_MS = 5000;
const FULL_SCAN_MS = 10_000;
const BEGINNING = '-infinity';
/** When the first full scan of a replica fails, its sweeps begin at the time that is this long ago. */
const RECENT_MS = 60_000;

/**
 * The scan horizon of a duty: the time up to which everything is dealt with. A sweep starts there, so that it walks
 * over no index entries of leases and schedules that are gone (floor/README.md says why that matters). The horizon is a
 * hint: now and then a sweep scans everything.
 * `marginMs`: a sweep scans from the time at which the last one began, less this. `fullScanMs`: full scans are at least
 * this long apart.
 */
export function createScanHorizon(
  clock: Clock,
  { marginMs = MARGIN_MS, fullScanMs = FULL_SCAN_MS }: { marginMs?: number; fullScanMs?: number } = {},
) {
  let dealtWith = BEGINNING;
  let nextFull = 0;
  /** A sweep of several chunks: how far it has come, and the horizon that holds at its end. */
  let pass: { at: string; horizon: string } | undefined;

  const before = (ms: number): string => new Date(clock.now() - ms).toISOString();

  return {
    /** The time up to which everything is dealt with, as PostgreSQL reads it. */
    dealtWith: (): string => dealtWith,

    /** Things are here that no sweep has seen, and whose time may be long ago: the next sweep scans everything. */
    scanAll(): void {
      nextFull = 0;
    },

    /** Gives up the sweep that is under way. The next one begins at the horizon. */
    startOver(): void {
      pass = undefined;
    },

    /**
     * Goes on with a sweep where the last chunk ended. `chunk` returns the time that it has reached, or undefined at
     * the end of the sweep. Returns true when there is more.
     */
    async from(chunk: (from: string) => Promise<string | undefined>): Promise<boolean> {
      const started = performance.now();
      const full = !pass && started >= nextFull;
      pass ??= {
        at: full ? BEGINNING : dealtWith,
        horizon: before(marginMs),
      };
      const count = () => {
        const ended = performance.now();
        if (full) nextFull = ended + Math.max(fullScanMs, restAfter(ended - started, 'full scans'));
      };
      let at: string | undefined;
      try {
        at = await chunk(pass.at);
      } catch (error) {
        // A full scan may be slower than the time limit of a statement. It counts, and the sweeps go on without it.
        if (pass.at !== BEGINNING || !isTimeLimit(error)) throw error;
        count();
        pass = undefined;
        if (dealtWith === BEGINNING) dealtWith = before(RECENT_MS);
        return true;
      }
      count();
      if (at !== undefined) {
        pass.at = at;
        return true;
      }
      dealtWith = pass.horizon;
      pass = undefined;
      return false;
    },
  };
}

/** Sweeps that all begin at the same time, and move no scan horizon. */
export function walkFrom(time: string): Walk {
  let at: string | undefined;
  return {
    startOver(): void {
      at = undefined;
    },

    async from(chunk) {
      at = await chunk(at ?? time);
      return at !== undefined;
    },
  };
}

export type ScanHorizon = ReturnType<typeof createScanHorizon>;
/** What a sweep needs of it. */
export type Walk = Pick<ScanHorizon, 'from' | 'startOver'>;
