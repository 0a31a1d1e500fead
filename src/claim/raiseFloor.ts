import { setTimeout as delay } from 'node:timers/promises';
import { isTimeLimit } from '../postgres/errorClasses.ts';
import type { Db } from '../postgres/pool.ts';
import { planned, row, type Statement } from '../postgres/statements.ts';
import { type Arrivals, LAG_MS } from '../queues/arrivals.ts';
import type { QueueMemory } from './queueMemories.ts';
import { type Piece, rangesOf, type ScanRanges } from './scanRanges.ts';

interface Survey {
  firsts: string;
  ms: number;
  gives_freely: boolean | null;
}

/** A survey may not take longer, and the surveys between two claims take about this long together. */
const SURVEY_LIMIT_MS = 200;
const SURVEYS_MS = 200;
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

const limited = <P, R>(statement: Statement<P, R>): Statement<P, R> => ({
  ...statement,
  timeoutMs: SURVEY_LIMIT_MS,
});
const statements = {
  survey: limited(planned('claim/survey', row<Survey>())),
  stored: planned('claim/stored_floors', row<{ rank: number; position: number }>()),
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

  async function survey(
    queue_id: number,
    ranges: ScanRanges,
  ): Promise<Omit<Survey, 'firsts'> & { firsts: (number | undefined)[] }> {
    const [found] = await db.query(statements.survey, { queue_id, ...ranges });
    const { firsts, ...rest } = found as Survey;
    return { ...rest, firsts: firsts.split(',').map((text) => (text === '' ? undefined : Number(text))) };
  }

  async function readStored(memory: QueueMemory): Promise<void> {
    if (now() < memory.storedReadAt + STORED_MS) return;
    memory.storedReadAt = now();
    const rows = await db.query(statements.stored, { queue_id: memory.queueId });
    for (const { rank, position } of rows)
      if (position <= arrivals.newest()) memory.floor.stored(rank, position);
  }

  async function settled(): Promise<number> {
    for (;;) {
      const position = arrivals.settled();
      if (position !== undefined) return position;
      await delay(LAG_MS / 5);
      if (!arrivals.isFresh()) await arrivals.refresh();
    }
  }

  async function surveyOn({ queueId, floor }: QueueMemory, cut: Piece, gotNothing: boolean): Promise<Raised> {
    const end = await settled();
    const until = now() + SURVEYS_MS;
    const done = new Set<number>();
    do {
      const pieces = floor.behind(end, done);
      if (pieces.length === 0) break;
      const { firsts, ms, gives_freely } = await survey(queueId, rangesOf(pieces));
      floor.surveyed(pieces, firsts, ms);
      for (const [i, { rank }] of pieces.entries()) {
        const first = firsts[i];
        if (first === undefined) continue;
        done.add(rank);
        const isLocked = gotNothing && rank === cut.rank && first <= cut.to;
        if (isLocked && !gives_freely) return { again: false };
        if (isLocked && !floor.passLocked(cut, first)) return { again: false, inMs: LAG_MS };
      }
    } while (now() < until);
    return { again: true };
  }

  return {
    /** A claim reached the end of `cut` and may find more behind it. */
    async raise(memory: QueueMemory, cut: Piece, gotNothing: boolean): Promise<Raised> {
      const { surveys } = memory;
      if (now() > surveys.until + TOGETHER_MS) {
        surveys.since = now();
        memory.floor.beginSurveys();
      }
      try {
        await readStored(memory);
        const raised = await surveyOn(memory, cut, gotNothing);
        return raised.again && now() > surveys.since + LONGEST_MS ? { again: false, inMs: 1 } : raised;
      } catch (error) {
        if (!isTimeLimit(error)) throw error;
        memory.floor.surveyFailed();
        return { again: true };
      } finally {
        surveys.until = now();
      }
    },

    /** A claim took this long. Checks, now and then, that it was not for ranks that are scanned whole. */
    async checkSlow(memory: QueueMemory, ms: number): Promise<void> {
      if (ms < SLOW_CLAIM_MS || now() < memory.checkedAt + CHECK_MS) return;
      const ranges = memory.floor.wholeRanks();
      if (!ranges) return;
      memory.checkedAt = now();
      try {
        if ((await survey(memory.queueId, ranges)).ms > SLOW_WHOLE_MS) memory.floor.closeRanks();
      } catch (error) {
        // An outage shows in the next claim.
        if (isTimeLimit(error)) memory.floor.closeRanks();
      }
    },
  };
}
