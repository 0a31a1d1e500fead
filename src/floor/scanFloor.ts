import { createAdaptiveWidth } from './adaptiveWidth.ts';
import { LAG_MS } from './arrivals.ts';
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

/** A claim scans at most about this number of positions. Fewer after a claim that failed, and while surveys run. */
const CLAIM_WIDTH = 2 ** 15;
const LEAST_WIDTH = 2 ** 10;
/** A survey takes about this long. */
const SURVEY_MS = 20;
/** A rank gets a level of its own when surveys of it took this long together. A quick look at a rank does not count. */
const SLOW_RANK_MS = 20;
const QUICK_MS = 1;
/** Ranks without a level are scanned whole when all that was ever there takes less than this. */
const WHOLE_MS = 30;
const WHOLE_AGAIN_MS = 60_000;
/** After a hint at jobs below the floor, patrols are fast for 60 s. A claim can hold a job locked for 2.3 s at most. */
const SUSPECT_MS = 60_000;
/** A replica stores the floor of a level when it has leased this number of jobs there, or when surveys of it took this long. */
const STORED_JOBS = 1000;
const STORED_MS = 10;

interface Level {
  /** Nothing up to here can be claimed any more. */
  floor: number;
  /** A position that was leased, and when: the floor to be. */
  next: { position: number; at: number } | undefined;
  /** Jobs leased since the floor was stored, and how long surveys took since then. */
  jobs: number;
  surveyMs: number;
  /** The first job that is ready lies here, but claims do not get it. */
  stuck: { position: number; since: number } | undefined;
}

/**
 * The scan floors of one queue: for each priority, the position below which nothing can be claimed any more. A claim
 * scans from there, over a bounded number of positions. So it walks over a bounded number of index entries of jobs that are
 * gone: PostgreSQL keeps these entries while any transaction holds an old snapshot. No two jobs have one position.
 * A floor rises in two ways: behind jobs that were leased, and by surveys (raiseFloor.ts), which find where the next job is.
 * All jobs up to `committedUpTo` have committed, or are marked (arrivals.ts). Floors stay below it.
 */
export function createScanFloor(now: () => number = () => performance.now()) {
  const levels = new Map<number, Level>();
  /** The floor of all ranks without a level. */
  let base = -1;
  /** Ranks without a level are scanned whole, from their beginning: nothing was ever there. */
  let whole = false;
  /** How long the surveys up to `base` took, without those of ranks that have a level by now. */
  let baseMs = 0;
  /** The part of it that slow surveys of single ranks took. */
  let slowMs = new Map<number, number>();
  let baseAt = 0;
  let claimWidth = CLAIM_WIDTH;
  let isSurveying = false;
  let suspectUntil = now() + SUSPECT_MS;
  /** The last survey was one of ranks without a level. */
  let isBare = false;
  const surveyWidth = createAdaptiveWidth(SURVEY_MS);

  function suspect(): void {
    suspectUntil = now() + SUSPECT_MS;
  }

  const floorOf = (rank: number): number => levels.get(rank)?.floor ?? base;

  function levelOf(rank: number): Level {
    let level = levels.get(rank);
    if (!level) {
      level = { floor: base, next: undefined, jobs: 0, surveyMs: 0, stuck: undefined };
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
    slowMs = new Map();
  }

  function openRanks(committedUpTo: number): void {
    if (whole || base + CLAIM_WIDTH < committedUpTo) return;
    if (baseMs < WHOLE_MS) whole = true;
    else if (now() > baseAt + Math.max(WHOLE_AGAIN_MS, 100 * baseMs)) closeRanks();
  }

  const ranksInUse = (): number[] => (whole ? [...levels.keys()].sort((a, b) => a - b) : ALL_RANKS);

  return {
    /**
     * What the next claim scans. `cut` is the piece with which the scan ends before the end of the order: the claim does not
     * see what lies behind it.
     */
    ranges(committedUpTo: number): { ranges: ScanRanges; cut: Piece | undefined } {
      openRanks(committedUpTo);
      const ranks = ranksInUse();
      const ranges = newRanges();
      const width = isSurveying ? LEAST_WIDTH : claimWidth;
      if (whole && ranks[0] !== FIRST_RANK)
        addRange(ranges, FIRST_RANK, -1, (ranks[0] ?? LAST_RANK + 1) - 1, END);
      for (const [i, rank] of ranks.entries()) {
        const floor = floorOf(rank);
        if (floor + claimWidth < committedUpTo) {
          const cut = { rank, from: floor, to: floor + width };
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

    /** A claim that leased some jobs found its first job here, whether it leased that or not. What lies before it is gone. */
    sawFirst(rank: number, position: number, committedUpTo: number, jobs: number): void {
      claimWidth = Math.min(CLAIM_WIDTH, claimWidth * 2);
      const level = levelOf(rank);
      level.jobs += jobs;
      raise(level, Math.min(position - 1, committedUpTo));
    },

    /** A claim failed: it may have scanned too much, and a floor may have passed what it had locked. */
    failed(): void {
      suspect();
      claimWidth = Math.max(LEAST_WIDTH, Math.floor(claimWidth / 8));
      closeRanks();
    },

    /** The ranks without a level, if claims scan them whole. */
    wholeRanks: (): Piece[] =>
      whole ? ALL_RANKS.filter((rank) => !levels.has(rank)).map((rank) => ({ rank, from: -1, to: END })) : [],

    closeRanks,

    /** Pieces to survey for the next jobs, but for ranks that are `done`. Ranks without a level come first. */
    piecesToSurvey(committedUpTo: number, done: Set<number>): Piece[] {
      const pending = ranksInUse().filter(
        (rank) => !done.has(rank) && floorOf(rank) + claimWidth < committedUpTo,
      );
      const bare = pending.filter((rank) => !levels.has(rank));
      // What was quick there may be slow here: ranks with many dead entries have levels.
      if (isBare && bare.length === 0) surveyWidth.begin();
      isBare = bare.length > 0;
      return (isBare ? bare : pending).map((rank) => ({
        rank,
        from: floorOf(rank),
        to: Math.min(floorOf(rank) + surveyWidth.get(), committedUpTo),
      }));
    },

    /** A survey found the first jobs that are ready in these pieces, if there are any. It took this long for each. */
    surveyed(pieces: Piece[], firsts: (number | undefined)[], times: number[]): void {
      const ms = times.reduce((sum, time) => sum + time, 0);
      surveyWidth.took(ms);
      const bare = pieces.find(({ rank }) => !levels.has(rank));
      if (bare) baseMs += ms;
      for (const [i, { rank, to }] of pieces.entries()) {
        const first = firsts[i];
        const time = times[i] as number;
        const rankMs = (slowMs.get(rank) ?? 0) + (time < QUICK_MS ? 0 : time);
        if (first === undefined && rankMs < SLOW_RANK_MS && !levels.has(rank)) {
          if (rankMs > 0) slowMs.set(rank, rankMs);
          continue;
        }
        if (!levels.has(rank)) baseMs -= rankMs;
        slowMs.delete(rank);
        const level = levelOf(rank);
        level.surveyMs += rankMs;
        raise(level, first === undefined ? to : first - 1);
      }
      if (!bare) return;
      baseAt = now();
      base = Math.max(base, bare.to);
    },

    surveyFailed: surveyWidth.failed,

    /** A series of surveys begins. Until it ends, claims do not scan what the surveys go over. */
    beginSurveys(): void {
      isSurveying = true;
      surveyWidth.begin();
    },

    endSurveys(): void {
      isSurveying = false;
    },

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
      suspect();
      return true;
    },

    /** A patrol found jobs below the floor. */
    suspect,

    /** Whether something hints at jobs below the floor: a claim failed, the floor passed a locked job, a patrol found jobs, or the floor is new. */
    isSuspect: (): boolean => now() < suspectUntil,

    /** Another replica stored this floor. */
    stored(rank: number, position: number): void {
      raise(levelOf(rank), position);
    },

    /** The floors that are to be stored, as they have much behind them. */
    takeUnstored(): { rank: number; position: number }[] {
      const found = [...levels].filter(
        ([, level]) => level.jobs >= STORED_JOBS || level.surveyMs >= STORED_MS,
      );
      for (const [, level] of found) {
        level.jobs = 0;
        level.surveyMs = 0;
      }
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
