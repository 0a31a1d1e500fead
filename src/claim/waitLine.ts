import { type Claim, slotsOf } from './claim.ts';
import type { Leases } from './leasedJob.ts';

/** Runs for the first claims in line. */
export interface Statement {
  line: WaitLine;
  /** In the order of arrival. */
  claims: Claim[];
  /**
   * All claims of the line that look at the queue for the first time. An empty result is the answer for all of them.
   */
  visitors: Claim[];
  /** How many jobs its claims may lease together. */
  slots: number;
  /** It runs outside of any round trip. */
  isOutside: boolean;
  /**
   * It is known that all of its claims get what they asked for. Before, one may get nothing and be the first in line
   * again.
   */
  isFilled: boolean;
}

/** The round trip that a wait line has joined. It has no number any more once the line has left it. */
export interface Trip {
  number: number | undefined;
}

/** The claims that wait for a queue, or look at it for the first time, in the order in which they came. */
export interface WaitLine {
  name: string;
  claims: Claim[];
  /**
   * idle     it joins a round trip as soon as there is a reason to look
   * joining  it takes part in the next round trip of its queue
   * blocked  its next claims might overtake claims that are in a statement. It goes on when that statement is decided
   */
  state: 'idle' | 'joining' | 'blocked';
  /**
   * Those that run. While one of them runs outside of any round trip, the line joins none, so that nobody is overtaken.
   */
  statements: Statement[];
  /**
   * Its last statement left its round trip. The next one will leave, too. So it will not see what its round trip
   * inserts.
   */
  leaves: boolean;
  /** Something may be ready that was not when the line last looked. */
  woken: boolean;
  /** There was no queue of this name when it last asked. */
  missing: boolean;
  /** When in each second it looks without being woken (polls.ts). */
  moment: number;
  /** The round trip in which it last looked. */
  trip: Trip | undefined;
  /** How often it was woken. */
  wakes: number;
  /** `wakes`, when it last asked for its queue. */
  asked: number;
  /** How many claims the next statement serves. It grows while all of them get something. */
  width: number;
}

const FIRST_WIDTH = 16;
const WIDEST = 1024;
const MOST_SLOTS = 1000;

/** A second has this number of moments. Lines look at different ones, so that they do not look all at once. */
export const MOMENTS = 50;

const openLine = (name: string, moment: number): WaitLine => ({
  name,
  claims: [],
  state: 'idle',
  statements: [],
  leaves: false,
  woken: false,
  missing: false,
  moment,
  trip: undefined,
  wakes: 0,
  asked: 0,
  width: FIRST_WIDTH,
});

function leave(line: WaitLine, claim: Claim): void {
  const at = line.claims.indexOf(claim);
  if (at >= 0) line.claims.splice(at, 1);
}

/** Whether a claim is about to look at this queue for the first time. */
export const isVisitorOf = (line: WaitLine, claim: Claim): boolean =>
  claim.state === 'visiting' && claim.queues[claim.visit] === line.name;

/** Whether there is a reason to look into the queue, and a claim to look for. */
export const hasReason = (line: WaitLine): boolean =>
  line.claims.some((claim) => isVisitorOf(line, claim) || (line.woken && claim.state === 'waiting'));

/** Whether claims wait here that have looked and found nothing, and nothing hints at a job since. */
export const isAtRest = (line: WaitLine): boolean =>
  !line.woken &&
  !line.missing &&
  line.state === 'idle' &&
  line.statements.length === 0 &&
  line.claims.some(({ state, starved }) => state === 'waiting' && !starved);

export const isOutside = (line: WaitLine): boolean => line.statements.some((one) => one.isOutside);

/** The arrival of the first claim that may not be overtaken: it is in a statement, and may come back without a job. */
function firstUndecided(line: WaitLine): number {
  let first = Number.POSITIVE_INFINITY;
  for (const { isFilled, claims } of line.statements)
    if (!isFilled) first = Math.min(first, (claims[0] as Claim).arrival);
  return first;
}

/**
 * The claims that the next statement serves: the first in line, as long as there is a reason to look and nobody is
 * overtaken. `isBlocked`: all of them would overtake somebody.
 */
export function nextBatch(line: WaitLine): { claims: Claim[]; visitors: Claim[]; isBlocked: boolean } {
  const visitors = line.claims.filter((claim) => isVisitorOf(line, claim));
  const claims: Claim[] = [];
  if (visitors.length === 0 && !line.woken) return { claims, visitors, isBlocked: false };
  const undecided = firstUndecided(line);
  let slots = 0;
  for (const claim of line.claims) {
    if (claim.state !== 'waiting' && !isVisitorOf(line, claim)) continue;
    if (claim.arrival > undecided) return { claims, visitors, isBlocked: claims.length === 0 };
    slots += slotsOf(claim);
    if (claims.length === line.width || (claims.length > 0 && slots > MOST_SLOTS)) break;
    claims.push(claim);
  }
  return { claims, visitors, isBlocked: false };
}

/** The first claims in line, as many as take this number of jobs, if they wait and overtake nobody. */
export function waitersFor(line: WaitLine, jobs: number): Claim[] {
  const undecided = firstUndecided(line);
  const claims: Claim[] = [];
  let slots = 0;
  for (const claim of line.claims) {
    if (slots >= jobs || claim.arrival > undecided || isVisitorOf(line, claim)) break;
    if (claim.state !== 'waiting') continue;
    slots += slotsOf(claim);
    claims.push(claim);
  }
  return claims;
}

/** Whether the queue may hold more than a statement leased. It also decides how many claims are served next. */
export function mayHoldMore(line: WaitLine, slots: number, { jobs, cut }: Leases): boolean {
  const rows = jobs.reduce((sum, leased) => sum + leased.length, 0);
  const more = cut || rows === slots;
  line.width = more ? Math.min(line.width * 4, WIDEST) : FIRST_WIDTH;
  return more;
}

/** The wait lines of all queues that claims wait for here. A line without claims is dropped. */
export function createWaitLines() {
  const lines = new Map<string, WaitLine>();
  const byMoment = Array.from({ length: MOMENTS }, () => new Set<WaitLine>());
  let opened = 0;

  /** There may be a newer line of the same queue by now. That one stays. */
  function dropIfEmpty(line: WaitLine): void {
    if (line.claims.length > 0 || line.state === 'joining') return;
    if (lines.get(line.name) === line) lines.delete(line.name);
    byMoment[line.moment]?.delete(line);
  }

  function of(name: string): WaitLine {
    let line = lines.get(name);
    if (!line) {
      line = openLine(name, opened++ % MOMENTS);
      lines.set(name, line);
      byMoment[line.moment]?.add(line);
    }
    return line;
  }

  function leaveOne(name: string, claim: Claim): void {
    const line = lines.get(name);
    if (!line) return;
    leave(line, claim);
    dropIfEmpty(line);
  }

  return {
    of,
    dropIfEmpty,
    find: (name: string): WaitLine | undefined => lines.get(name),
    all: (): WaitLine[] => [...lines.values()],
    ofMoment: (moment: number): Set<WaitLine> => byMoment[moment % MOMENTS] as Set<WaitLine>,
    claims: (): Claim[] => [...lines.values()].flatMap((line) => line.claims),

    /** Puts a claim that just came into the lines of its queues. */
    enterAll(claim: Claim): void {
      for (const name of claim.queues) of(name).claims.push(claim);
    },

    /** Takes a claim out of all of its lines. */
    leaveAll(claim: Claim): void {
      for (const name of claim.queues) leaveOne(name, claim);
    },

    /** A claim gives up these of its queues. */
    leave(claim: Claim, isGivenUp: (queue: string) => boolean): void {
      const { queues, visit } = claim;
      for (const name of queues.filter(isGivenUp)) leaveOne(name, claim);
      claim.visit = queues.filter((name, i) => i < visit && !isGivenUp(name)).length;
      claim.queues = queues.filter((name) => !isGivenUp(name));
    },
  };
}

export type WaitLines = ReturnType<typeof createWaitLines>;
