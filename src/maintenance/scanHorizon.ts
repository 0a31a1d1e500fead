import type { Clock } from '../postgres/clock.ts';

/** Longer than any statement runs: a lease or a schedule that commits later than that is left to a full scan. */
const MARGIN_MS = 5000;
const FULL_SCAN_MS = 10_000;
const FULL_SCAN_SHARE = 1 / 50;
const BEGINNING = '-infinity';

/**
 * Up to which time everything due has been dealt with, so that a sweep starts there and walks over no index entries of
 * leases and schedules that are gone (see floor.ts). It is a hint: now and then a sweep looks at everything.
 */
export function createScanHorizon(clock: Clock, fullScanMs = FULL_SCAN_MS) {
  let dealtWith = BEGINNING;
  let nextFull = 0;
  /** A sweep of several chunks: how far it has come, and up to when all is dealt with at its end. */
  let pass: { at: string; horizon: string } | undefined;

  return {
    /** Goes on with a sweep from where it was; `chunk` tells up to when it came, or nothing when it has come to the end. */
    async from(chunk: (from: string) => Promise<string | undefined>): Promise<boolean> {
      const started = performance.now();
      const full = !pass && started >= nextFull;
      pass ??= {
        at: full ? BEGINNING : dealtWith,
        horizon: new Date(clock.now() - MARGIN_MS).toISOString(),
      };
      const at = await chunk(pass.at);
      const ended = performance.now();
      if (full) nextFull = ended + Math.max(fullScanMs, (ended - started) / FULL_SCAN_SHARE);
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
