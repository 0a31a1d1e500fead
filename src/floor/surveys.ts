import { setTimeout as delay } from 'node:timers/promises';
import { isTimeLimit } from '../postgres/errorClasses.ts';
import type { Db } from '../postgres/pool.ts';
import { createSemaphore } from '../postgres/semaphore.ts';
import { prepared, row } from '../postgres/statements.ts';
import type { Arrivals } from './arrivals.ts';
import { LAG_MS } from './orderEnd.ts';
import type { ScanOrder, SurveyRun } from './scanOrder.ts';
import { type Piece, rangesOf } from './scanRanges.ts';

interface Found {
  firsts: string;
  ends: string;
  gives_freely: boolean | null;
}

/**
 * A survey may take this long. After NARROWEST_AFTER failures in a row, surveys are as narrow as can be. If they still
 * fail, something else than dead entries makes them slow. So each may take twice as long as the one before it, up to
 * MOST_SURVEY_MS.
 */
const SURVEY_LIMIT_MS = 50;
const NARROWEST_AFTER = 2;
const MOST_SURVEY_MS = 1600;
/** A run ends when this number of its surveys in a row failed. */
const MOST_FAILURES = 10;
/** Surveys under way at once, of all queues. The pool's other connections serve other work. */
const SURVEYS_AT_ONCE = 3;

// Planned at each call, by statistics from the middle of a burst, it could take long, as floor/recall did.
const statement = prepared('floor/survey', row<Found>());

/** Surveys: where the next ready jobs of an order are. They raise its floors. */
export function createSurveys({ db, arrivals }: { db: Db; arrivals: Arrivals }) {
  const atOnce = createSemaphore(SURVEYS_AT_ONCE);
  const runs = new Set<Promise<void>>();
  let isStopped = false;

  /** Finds the first job that is ready in each piece, and how long that took. */
  async function survey(order: ScanOrder, pieces: Piece[], timeoutMs = SURVEY_LIMIT_MS) {
    const { ranks, positions, last_positions } = rangesOf(pieces);
    const asked = { queue_id: order.queueId, has_keys: order.hasKeys, ranks, positions, last_positions };
    const [found] = await atOnce(() => db.query({ ...statement, timeoutMs }, asked));
    const { firsts, ends, gives_freely: givesFreely } = found as Found;
    const endsMs = ends.split(',').map(Number);
    return {
      firsts: firsts.split(',').map((text) => (text === '' ? undefined : Number(text))),
      times: endsMs.map((end, i) => end - (endsMs[i - 1] ?? 0)),
      givesFreely,
    };
  }

  /**
   * The position up to which all jobs have committed, or are marked. Undefined when the replica stops before it is
   * known.
   */
  async function committedUpTo(): Promise<number | undefined> {
    while (!isStopped) {
      const position = arrivals.committedUpTo();
      if (position !== undefined) return position;
      await delay(LAG_MS / 5);
      if (!isStopped && !arrivals.isFresh()) await arrivals.refresh();
    }
    return undefined;
  }

  /**
   * Surveys each rank until its first ready job is found (then it is in `found`), or the end of the order is reached.
   */
  async function surveyAll(order: ScanOrder, found: SurveyRun['firsts']): Promise<void> {
    const { floor } = order;
    const end = await committedUpTo();
    let limitMs = SURVEY_LIMIT_MS;
    for (let failures = 0; end !== undefined && !isStopped; ) {
      const pieces = floor.piecesToSurvey(end, found);
      if (pieces.length === 0) return;
      try {
        const { firsts, times, givesFreely } = await survey(order, pieces, limitMs);
        failures = 0;
        floor.surveyed(pieces, firsts, times);
        for (const [i, { rank }] of pieces.entries()) {
          const position = firsts[i];
          if (position !== undefined) found.set(rank, { position, givesFreely });
        }
      } catch (error) {
        if (!isTimeLimit(error) || ++failures === MOST_FAILURES) throw error;
        floor.surveyFailed();
        if (failures >= NARROWEST_AFTER) limitMs = Math.min(MOST_SURVEY_MS, limitMs * 2);
      }
    }
  }

  return {
    survey,

    /** Begins a run. It goes on by itself, whether claims wait for it or not. */
    start(order: ScanOrder): SurveyRun {
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
    },

    /** Resolves when no survey is under way any more. No other begins. */
    async stop(): Promise<void> {
      isStopped = true;
      await Promise.all(runs);
    },
  };
}
