import { setTimeout as delay } from 'node:timers/promises';
import { isTimeLimit } from '../postgres/errorClasses.ts';
import type { Db } from '../postgres/pool.ts';
import { createSemaphore } from '../postgres/semaphore.ts';
import { planned, prepared, row, type Statement } from '../postgres/statements.ts';
import { type Arrivals, LAG_MS } from './arrivals.ts';
import type { ScanOrder, SurveyRun } from './scanOrder.ts';
import { type Piece, rangesOf } from './scanRanges.ts';

interface Survey {
  firsts: string;
  ends: string;
  gives_freely: boolean | null;
}

/**
 * A survey may not take longer. When two in a row did, they were as narrow as can be, and it is not for the dead entries. Then
 * the next ones may take longer. When this number of them in a row failed, the run ends.
 */
const SURVEY_LIMIT_MS = 50;
const NARROWEST_AFTER = 2;
const MOST_SURVEY_MS = 1600;
const MOST_FAILURES = 10;
/** Surveys under way at once, of all queues. The pool's other connections serve other work. */
const SURVEYS_AT_ONCE = 3;
/** A claim looks again after this time, although surveys go on. */
const SLICE_MS = 200;
/** Claims wait this long for surveys. Then those that do not wait for jobs are answered. */
const LONGEST_MS = 2000;
/** Surveys that come this soon after each other belong together. */
export const TOGETHER_MS = 500;
/** Stored floors are read at most this often. */
const STORED_MS = 1000;
/** A claim that took longer may have scanned too much. */
const SLOW_CLAIM_MS = 50;
const CHECK_MS = 10_000;
/** Ranks without a level are not scanned whole when it takes longer. */
const SLOW_WHOLE_MS = 25;

const limited = <P, R>(statement: Statement<P, R>, timeoutMs: number): Statement<P, R> => ({
  ...statement,
  timeoutMs,
});
const statements = {
  // Planned at each call, by statistics from the middle of a burst, it could take long, as floor/recall did.
  survey: prepared('floor/survey', row<Survey>()),
  stored: planned('floor/stored_floors', row<{ rank: number; position: number }>()),
};

/** What a claim does that got to the end of its piece. */
export interface Raised {
  /** It looks again: the floors have risen. */
  again: boolean;
  /** If it does not: it looks again after this time, while it waits for jobs. */
  inMs?: number;
}

/** Raises scan floors over what is gone, piece by piece, until they stand before jobs or at the end of the order. */
export function createRaiseFloor({ db, arrivals }: { db: Db; arrivals: Arrivals }) {
  const now = () => performance.now();

  const atOnce = createSemaphore(SURVEYS_AT_ONCE);
  const runs = new Set<Promise<void>>();
  let isStopped = false;

  /** Finds the first job that is ready in each piece, and how long that took. */
  async function survey(
    { queueId: queue_id, hasKeys: has_keys }: ScanOrder,
    pieces: Piece[],
    limitMs = SURVEY_LIMIT_MS,
  ) {
    const { ranks, positions, last_positions } = rangesOf(pieces);
    const [found] = await atOnce(() =>
      db.query(limited(statements.survey, limitMs), { queue_id, has_keys, ranks, positions, last_positions }),
    );
    const { firsts, ends, gives_freely: givesFreely } = found as Survey;
    const endsMs = ends.split(',').map(Number);
    return {
      firsts: firsts.split(',').map((text) => (text === '' ? undefined : Number(text))),
      times: endsMs.map((end, i) => end - (endsMs[i - 1] ?? 0)),
      givesFreely,
    };
  }

  async function readStored(order: ScanOrder): Promise<void> {
    if (now() < order.storedReadAt + STORED_MS) return;
    order.storedReadAt = now();
    const rows = await db.query(statements.stored, { queue_id: order.queueId, has_keys: order.hasKeys });
    for (const { rank, position } of rows)
      if (position <= arrivals.newest()) order.floor.stored(rank, position);
  }

  /** The position up to which all jobs have committed, or are marked. Undefined when the replica stops before it is known. */
  async function committedUpTo(): Promise<number | undefined> {
    while (!isStopped) {
      const position = arrivals.committedUpTo();
      if (position !== undefined) return position;
      await delay(LAG_MS / 5);
      if (!isStopped && !arrivals.isFresh()) await arrivals.refresh();
    }
    return undefined;
  }

  async function surveyAll(order: ScanOrder, found: SurveyRun['firsts']): Promise<void> {
    const { floor } = order;
    const end = await committedUpTo();
    const done = new Set<number>();
    let limitMs = SURVEY_LIMIT_MS;
    for (let failures = 0; end !== undefined && !isStopped; ) {
      const pieces = floor.piecesToSurvey(end, done);
      if (pieces.length === 0) return;
      try {
        const { firsts, times, givesFreely } = await survey(order, pieces, limitMs);
        failures = 0;
        floor.surveyed(pieces, firsts, times);
        for (const [i, { rank }] of pieces.entries()) {
          const position = firsts[i];
          if (position === undefined) continue;
          done.add(rank);
          found.set(rank, { position, givesFreely });
        }
      } catch (error) {
        if (!isTimeLimit(error) || ++failures === MOST_FAILURES) throw error;
        floor.surveyFailed();
        if (failures >= NARROWEST_AFTER) limitMs = Math.min(MOST_SURVEY_MS, limitMs * 2);
      }
    }
  }

  /** It goes on by itself, whether claims wait for it or not. */
  function startRun(order: ScanOrder): SurveyRun {
    order.floor.beginSurveys();
    const firsts: SurveyRun['firsts'] = new Map();
    const done = surveyAll(order, firsts).finally(() => {
      order.run = undefined;
      order.floor.endSurveys();
    });
    // A claim that waits is told of the failure. Without one, the next claim starts another run.
    const ended: Promise<void> = done.catch(() => undefined).finally(() => runs.delete(ended));
    runs.add(ended);
    return { firsts, done };
  }

  async function waitForRun(order: ScanOrder, cut: Piece, gotNothing: boolean): Promise<Raised> {
    const isOwn = order.run === undefined;
    order.run ??= startRun(order);
    const { run } = order;
    await Promise.race([run.done, delay(SLICE_MS, undefined, { ref: false })]);
    // What an earlier run found may have been leased since, and the claim got nothing for that reason.
    const first = isOwn ? run.firsts.get(cut.rank) : undefined;
    if (!first || !gotNothing || first.position > cut.to) return { again: true };
    if (!first.givesFreely) return { again: false };
    return order.floor.passLocked(cut, first.position) ? { again: true } : { again: false, inMs: LAG_MS };
  }

  return {
    /** A claim reached the end of `cut` and may find more behind it. */
    async raise(order: ScanOrder, cut: Piece, gotNothing: boolean): Promise<Raised> {
      const { surveys } = order;
      if (now() > surveys.until + TOGETHER_MS) surveys.since = now();
      try {
        await readStored(order);
        const raised = await waitForRun(order, cut, gotNothing);
        return raised.again && now() > surveys.since + LONGEST_MS ? { again: false, inMs: 1 } : raised;
      } catch (error) {
        if (!isTimeLimit(error)) throw error;
        return { again: true };
      } finally {
        surveys.until = now();
      }
    },

    /** A claim took this long. Checks, now and then, that it was not for ranks that are scanned whole. */
    async checkSlow(order: ScanOrder, ms: number): Promise<void> {
      if (ms < SLOW_CLAIM_MS || now() < order.checkedAt + CHECK_MS) return;
      const pieces = order.floor.wholeRanks();
      if (pieces.length === 0) return;
      order.checkedAt = now();
      try {
        const { times } = await survey(order, pieces);
        if (times.reduce((sum, ms) => sum + ms, 0) > SLOW_WHOLE_MS) order.floor.closeRanks();
      } catch (error) {
        // An outage shows in the next claim.
        if (isTimeLimit(error)) order.floor.closeRanks();
      }
    },

    /** Settles when no survey is under way any more. No other begins. */
    async stop(): Promise<void> {
      isStopped = true;
      await Promise.all(runs);
    },
  };
}

export type RaiseFloor = ReturnType<typeof createRaiseFloor>;
