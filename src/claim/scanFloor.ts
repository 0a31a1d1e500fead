import { LAG_MS } from '../queues/arrivals.ts';
import { createAdaptiveWidth } from './adaptiveWidth.ts';
import {
  ALL_RANKS,
  addRange,
  END,
  FIRST_RANK,
  LAST_RANK,
  newRanges,
  type Piece,
  type ScanRanges,
} from './scanRanges.ts';

/** A claim scans at most about this number of positions. Fewer after a claim that failed. */
const CLAIM_WIDTH = 2 ** 15;
const LEAST_WIDTH = 2 ** 10;
/** A survey takes about this long. */
export const SURVEY_MS = 20;
/** Ranks without a level are scanned whole when all that was ever there takes less than this. */
const WHOLE_MS = 30;
const WHOLE_AGAIN_MS = 60_000;
/** A replica stores the floor of a level when it has leased this number of jobs there, or when a survey of it was slow. */
const STORED_JOBS = 10_000;

interface Level {
  /** Nothing up to here can be claimed any more. */
  floor: number;
  /** A position that was leased, and when: the floor to be. */
  next: { position: number; at: number } | undefined;
  /** Jobs leased since the floor was stored. */
  jobs: number;
  /** The first job that is ready lies here, but claims do not get it. */
  stuck: { position: number; since: number } | undefined;
}

/**
 * The scan floors of one queue: for each priority, the position below which nothing can be claimed any more. A claim
 * scans from there, over a bounded number of positions. So it walks over a bounded number of index entries of jobs that are
 * gone: PostgreSQL keeps these entries while any transaction holds an old snapshot. No two jobs have one position.
 * A floor rises in two ways: behind jobs that were leased, and by surveys (raiseFloor.ts), which find where the next job is.
 * `settled` is the end of the order a while ago (queues/arrivals.ts): floors stay below it.
 */
export function createScanFloor(now: () => number = () => performance.now()) {
  const levels = new Map<number, Level>();
  /** The floor of all ranks without a level. */
  let base = -1;
  /** Ranks without a level are scanned whole, from their beginning: nothing was ever there. */
  let whole = false;
  /** How long the surveys up to `base` took. */
  let baseMs = 0;
  let baseAt = 0;
  let claimWidth = CLAIM_WIDTH;
  const surveyWidth = createAdaptiveWidth(SURVEY_MS);

  const floorOf = (rank: number): number => levels.get(rank)?.floor ?? base;

  function levelOf(rank: number): Level {
    let level = levels.get(rank);
    if (!level) {
      level = { floor: base, next: undefined, jobs: 0, stuck: undefined };
      levels.set(rank, level);
    }
    return level;
  }

  function raise(level: Level, floor: number): void {
    if (floor > level.floor) level.floor = floor;
    if (level.next && level.next.position <= level.floor) level.next = undefined;
  }

  /** Surveys each rank without a level by itself, from its beginning. */
  function closeRanks(): void {
    whole = false;
    base = -1;
    baseMs = 0;
  }

  function openRanks(settled: number): void {
    if (whole || base + CLAIM_WIDTH < settled) return;
    if (baseMs < WHOLE_MS) whole = true;
    else if (now() > baseAt + Math.max(WHOLE_AGAIN_MS, 100 * baseMs)) closeRanks();
  }

  const ranksInUse = (): number[] => (whole ? [...levels.keys()].sort((a, b) => a - b) : ALL_RANKS);

  return {
    /**
     * What the next claim scans. `cut` is the piece with which the scan ends before the end of the order: the claim does not
     * see what lies behind it.
     */
    ranges(settled: number): { ranges: ScanRanges; cut: Piece | undefined } {
      openRanks(settled);
      const ranks = ranksInUse();
      const ranges = newRanges();
      if (whole && ranks[0] !== FIRST_RANK)
        addRange(ranges, FIRST_RANK, -1, (ranks[0] ?? LAST_RANK + 1) - 1, END);
      for (const [i, rank] of ranks.entries()) {
        const floor = floorOf(rank);
        if (floor + claimWidth < settled) {
          const cut = { rank, from: floor, to: floor + claimWidth };
          addRange(ranges, rank, floor, rank, cut.to);
          return { ranges, cut };
        }
        addRange(ranges, rank, floor, (ranks[i + 1] ?? LAST_RANK + 1) - 1, END);
      }
      return { ranges, cut: undefined };
    },

    /** A claim that began at this time leased these jobs: all that it found from the floors up. */
    leased(jobs: { priority: number; position: number }[], startedAt: number): void {
      claimWidth = Math.min(CLAIM_WIDTH, claimWidth * 2);
      const reached = new Map<number, { position: number; jobs: number }>();
      for (const { priority, position } of jobs) {
        const reach = reached.get(-priority);
        if (!reach) reached.set(-priority, { position, jobs: 1 });
        else {
          reach.jobs++;
          if (position > reach.position) reach.position = position;
        }
      }
      for (const [rank, { position, jobs }] of reached) {
        const level = levelOf(rank);
        level.jobs += jobs;
        level.stuck = undefined;
        // What was not visible or locked when the first claim ran is leased by now, or it is late.
        if (level.next && startedAt >= level.next.at + LAG_MS)
          raise(level, Math.min(level.next.position, position));
        if (!level.next && position > level.floor) level.next = { position, at: now() };
      }
    },

    /** A claim failed: it may have scanned too much. */
    failed(): void {
      claimWidth = Math.max(LEAST_WIDTH, Math.floor(claimWidth / 8));
      closeRanks();
    },

    /** The ranges of the ranks without a level, if claims scan them whole. */
    wholeRanks(): ScanRanges | undefined {
      if (!whole) return undefined;
      const ranges = newRanges();
      let first = FIRST_RANK;
      for (const rank of [...ranksInUse(), LAST_RANK + 1]) {
        if (first < rank) addRange(ranges, first, -1, rank - 1, END);
        first = rank + 1;
      }
      return ranges;
    },

    closeRanks,

    /** Pieces to survey for the next jobs, but for ranks that are `done`. */
    behind(settled: number, done: Set<number>): Piece[] {
      const pieces = ranksInUse()
        .filter((rank) => !done.has(rank) && floorOf(rank) + claimWidth < settled)
        .map((rank) => ({
          rank,
          from: floorOf(rank),
          to: Math.min(floorOf(rank) + surveyWidth.get(), settled),
        }));
      const bare = pieces.filter(({ rank }) => !levels.has(rank));
      return bare.length > 0 ? bare : pieces;
    },

    /** A survey found the first jobs that are ready in these pieces, if there are any. */
    surveyed(pieces: Piece[], firsts: (number | undefined)[], ms: number): void {
      surveyWidth.took(ms);
      const bare = pieces.filter(({ rank }) => !levels.has(rank));
      for (const [i, { rank, to }] of pieces.entries()) {
        const first = firsts[i];
        if (first === undefined && !levels.has(rank)) continue;
        const level = levelOf(rank);
        raise(level, first === undefined ? to : first - 1);
        if (ms > SURVEY_MS) level.jobs = STORED_JOBS;
      }
      const [piece] = bare;
      if (!piece) return;
      baseMs += ms;
      baseAt = now();
      base = Math.max(base, piece.to);
    },

    surveyFailed: surveyWidth.failed,

    /** A series of surveys begins. */
    beginSurveys: surveyWidth.begin,

    /**
     * A claim of this piece leased nothing, though a job is ready there: others have it locked. When they still have it
     * after a while, the floor passes the piece, so that what lies behind it is found. Returns whether it did.
     */
    passLocked({ rank, to }: Piece, position: number): boolean {
      const level = levelOf(rank);
      if (level.stuck?.position !== position) level.stuck = { position, since: now() };
      if (now() < level.stuck.since + LAG_MS) return false;
      level.stuck = undefined;
      raise(level, to);
      return true;
    },

    /** Another replica stored this floor. */
    stored(rank: number, position: number): void {
      raise(levelOf(rank), position);
    },

    /** The floors that are to be stored, as they have much behind them. */
    takeUnstored(): { rank: number; position: number }[] {
      const found = [...levels].filter(([, level]) => level.jobs >= STORED_JOBS);
      for (const [, level] of found) level.jobs = 0;
      return found.map(([rank, level]) => ({ rank, position: level.floor }));
    },

    /** What lies below the floors, of the positions from `first` to `last`. */
    below(first: number, last: number): Piece[] {
      return (whole ? [...levels.keys()] : ALL_RANKS)
        .filter((rank) => floorOf(rank) >= first)
        .map((rank) => ({ rank, from: first - 1, to: Math.min(last, floorOf(rank)) }));
    },

    /** The highest of the floors. */
    highest: (): number => Math.max(whole ? -1 : base, ...[...levels.values()].map(({ floor }) => floor)),
  };
}

export type ScanFloor = ReturnType<typeof createScanFloor>;
