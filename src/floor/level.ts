import { LAG_MS } from './orderEnd.ts';

/** The floor of a level is stored when so many jobs were leased there, or when surveys of it took so long. */
const STORED_JOBS = 1000;
const STORED_MS = 10;

/**
 * The scan floor of one rank: nothing up to this position can be claimed any more. It only rises. It begins at `first`,
 * and surveys up to there took `firstMs`.
 */
export function createLevel(first: number, firstMs: number, now: () => number) {
  let floor = first;
  /** A position that was leased, and when: the floor to be. */
  let next: { position: number; at: number } | undefined;
  /** The first ready job is at this position, but claims do not get it. */
  let stuck: { position: number; since: number } | undefined;
  /** Jobs leased since the floor was stored, and how long surveys took since then. */
  let jobs = 0;
  let surveyMs = firstMs;

  function raise(to: number): void {
    if (to > floor) floor = to;
    if (next && next.position <= floor) next = undefined;
  }

  return {
    floor: (): number => floor,

    raise,

    /** A claim that began at `startedAt` leased this number of jobs. The last of them was at `position`. */
    leased(position: number, count: number, startedAt: number): void {
      jobs += count;
      stuck = undefined;
      // A job that the claim of `next` could not see, or found locked, is leased by now. Or it commits late, and is
      // marked.
      if (next && startedAt >= next.at + LAG_MS) raise(Math.min(next.position, position));
      if (!next && position > floor) next = { position, at: now() };
    },

    /** A claim leased this number of jobs, and knows that there is no ready job up to `position`. */
    sawNothing(position: number, count: number): void {
      jobs += count;
      raise(position);
    },

    /** Surveys that took `ms` found no ready job up to `position`. */
    surveyed(position: number, ms: number): void {
      surveyMs += ms;
      raise(position);
    },

    /**
     * Passes jobs up to `to`, when the first ready one has been locked at this position for a while. Returns whether it
     * did.
     */
    passLocked(position: number, to: number): boolean {
      if (stuck?.position !== position) stuck = { position, since: now() };
      if (now() < stuck.since + LAG_MS) return false;
      stuck = undefined;
      raise(to);
      return true;
    },

    /** The floor, if enough was done below it to store it. */
    takeUnstored(): number | undefined {
      if (jobs < STORED_JOBS && surveyMs < STORED_MS) return undefined;
      jobs = 0;
      surveyMs = 0;
      return floor;
    },
  };
}

export type Level = ReturnType<typeof createLevel>;
