import type { Clock } from '../clock.ts';

/** Longer than any statement runs: a lease or a schedule that commits later than that is left to a full scan. */
const MARGIN_MS = 5000;
const FULL_SCAN_MS = 10_000;
const FULL_SCAN_SHARE = 1 / 50;
const BEGINNING = '-infinity';

/**
 * Up to which time everything due has been dealt with, so that a sweep starts there and walks over no index entries of
 * leases and schedules that are gone (see floor.ts). It is a hint: now and then a sweep looks at everything.
 */
export function sweepHorizon(clock: Clock) {
  let dealtWith = BEGINNING;
  let nextFull = 0;

  return {
    /** Runs a sweep from where the last one ended; `sweep` tells whether it left something due. */
    async from(sweep: (after: string) => Promise<boolean>): Promise<boolean> {
      const started = performance.now();
      const full = started >= nextFull;
      const horizon = new Date(clock.now() - MARGIN_MS).toISOString();
      const more = await sweep(full ? BEGINNING : dealtWith);
      const ended = performance.now();
      if (full) nextFull = ended + Math.max(FULL_SCAN_MS, (ended - started) / FULL_SCAN_SHARE);
      if (!more) dealtWith = horizon;
      return more;
    },
  };
}
