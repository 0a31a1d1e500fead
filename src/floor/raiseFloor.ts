import { setTimeout as delay } from 'node:timers/promises';
import { isTimeLimit } from '../postgres/errorClasses.ts';
import type { Db } from '../postgres/pool.ts';
import type { Arrivals } from './arrivals.ts';
import { LAG_MS } from './orderEnd.ts';
import type { ScanOrder } from './scanOrder.ts';
import type { Piece } from './scanRanges.ts';
import { readStoredFloors } from './storedFloors.ts';
import { createSurveys } from './surveys.ts';

/** A claim looks again after this time, although surveys go on. */
const SLICE_MS = 200;
/** Claims wait this long for surveys. Then those that do not wait for jobs are answered. */
const LONGEST_MS = 2000;
/** Surveys that come this soon after each other belong together. */
export const TOGETHER_MS = 500;
/** A claim that took longer may have scanned too much. */
const SLOW_CLAIM_MS = 50;
/** After slow claims, ranks that are scanned whole are checked at most this often. */
const CHECK_MS = 10_000;
/** Bare ranks are not scanned whole any more when a survey of all of them takes longer than this. */
const SLOW_WHOLE_MS = 25;

/** What a claim does that got to the end of its piece. */
export interface Raised {
  /** It looks again: the floors have risen. */
  again: boolean;
  /** If it does not: it looks again after this time, while it waits for jobs. */
  inMs?: number;
}

/**
 * Raises floors for claims that came to the end of their scans: up to the next ready jobs, or to the end of the order.
 */
export function createRaiseFloor({ db, arrivals }: { db: Db; arrivals: Arrivals }) {
  const now = () => performance.now();
  const surveys = createSurveys({ db, arrivals });

  async function waitForRun(order: ScanOrder, cut: Piece, gotNothing: boolean): Promise<Raised> {
    const isOwn = order.run === undefined;
    order.run ??= surveys.start(order);
    const { run } = order;
    await Promise.race([run.done, delay(SLICE_MS, undefined, { ref: false })]);
    // What an earlier run found may have been leased since, and the claim got nothing for that reason.
    const first = isOwn ? run.firsts.get(cut.rank) : undefined;
    if (!first || !gotNothing || first.position > cut.to) return { again: true };
    if (!first.givesFreely) return { again: false };
    return order.floor.passLocked(cut, first.position) ? { again: true } : { again: false, inMs: LAG_MS };
  }

  return {
    /** A claim reached the end of `cut` and may find more after it. */
    async raise(order: ScanOrder, cut: Piece, gotNothing: boolean): Promise<Raised> {
      const waited = order.surveys;
      if (now() > waited.until + TOGETHER_MS) waited.since = now();
      try {
        await readStoredFloors(db, arrivals, order);
        const raised = await waitForRun(order, cut, gotNothing);
        return raised.again && now() > waited.since + LONGEST_MS ? { again: false, inMs: 1 } : raised;
      } catch (error) {
        if (!isTimeLimit(error)) throw error;
        return { again: true };
      } finally {
        waited.until = now();
      }
    },

    /** A claim took this long. Checks, now and then, that it was not for ranks that are scanned whole. */
    async checkSlow(order: ScanOrder, ms: number): Promise<void> {
      if (ms < SLOW_CLAIM_MS || now() < order.checkedAt + CHECK_MS) return;
      const pieces = order.floor.wholeRanks();
      if (pieces.length === 0) return;
      order.checkedAt = now();
      try {
        const { times } = await surveys.survey(order, pieces);
        if (times.reduce((sum, ms) => sum + ms, 0) > SLOW_WHOLE_MS) order.floor.closeRanks();
      } catch (error) {
        // An outage shows in the next claim.
        if (isTimeLimit(error)) order.floor.closeRanks();
      }
    },

    /** Resolves when no survey is under way any more. No other begins. */
    stop: surveys.stop,
  };
}

export type RaiseFloor = ReturnType<typeof createRaiseFloor>;
