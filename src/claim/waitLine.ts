import type { RoundTrip } from '../batching/roundTrips.ts';
import { type Claim, isWaiting, slotsOf } from './claim.ts';
import type { Leases } from './lease.ts';

/** The claims that wait for a queue, or look at it for the first time, in the order in which they came. */
export interface WaitLine {
  name: string;
  claims: Claim[];
  /** The claims in a statement that may get nothing there, and are the first in line then. */
  uncertain: Set<Claim>;
  /** It takes part in the next round trip of its queue. */
  joining: boolean;
  /** A statement outside of any round trip is under way. Later claims must not overtake those in it. */
  held: boolean;
  /** Its last statement left its round trip. The next one will do so, too, and not see what that inserts. */
  leaves: boolean;
  /** The next claims would overtake some that are uncertain. They look when those are decided. */
  behind: boolean;
  /** Something may be ready that was not when the line last looked. */
  woken: boolean;
  /** There was no queue of this name when it last looked. */
  missing: boolean;
  /** When in each second it looks without being woken. */
  moment: number;
  /** The round trip in which it last looked. */
  trip: RoundTrip | undefined;
  /** How often it was woken, for claims that look at another line meanwhile. */
  wakes: number;
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
  uncertain: new Set(),
  joining: false,
  held: false,
  leaves: false,
  behind: false,
  woken: false,
  missing: false,
  moment,
  trip: undefined,
  wakes: 0,
  width: FIRST_WIDTH,
});

/** Puts a claim into a line, by order of arrival. */
export function join(line: WaitLine, claim: Claim): void {
  let at = line.claims.length;
  while (at > 0 && (line.claims[at - 1] as Claim).arrival > claim.arrival) at--;
  line.claims.splice(at, 0, claim);
}

function leave(line: WaitLine, claim: Claim): void {
  const at = line.claims.indexOf(claim);
  if (at >= 0) line.claims.splice(at, 1);
}

const isVisiting = (line: WaitLine, claim: Claim) =>
  claim.visit < claim.queues.length && claim.queues[claim.visit] === line.name;

/** Whether there is a reason to look into the queue, and a claim to look for. */
export const hasReason = (line: WaitLine): boolean =>
  line.claims.some((claim) => !claim.busy && (isVisiting(line, claim) || (line.woken && isWaiting(claim))));

/** Whether the next claims might overtake one that came before them. */
function mightOvertake(line: WaitLine, next: Claim | undefined): boolean {
  for (const { arrival } of line.uncertain) if (next && arrival < next.arrival) return true;
  return false;
}

/** The claims that the next statement serves: the first in line, as long as there is a reason to look at all, and nobody is overtaken. */
export function nextBatch(line: WaitLine): { served: Claim[]; visitors: Claim[] } {
  const eligible = line.claims.filter(
    (claim) => !claim.busy && (isVisiting(line, claim) || isWaiting(claim)),
  );
  const visitors = eligible.filter((claim) => isVisiting(line, claim));
  if (visitors.length === 0 && !line.woken) return { served: [], visitors };
  line.behind = mightOvertake(line, eligible[0]);
  if (line.behind) return { served: [], visitors };
  const served: Claim[] = [];
  let slots = 0;
  for (const claim of eligible) {
    slots += slotsOf(claim);
    if (served.length === line.width || (served.length > 0 && slots > MOST_SLOTS)) break;
    served.push(claim);
  }
  return { served, visitors };
}

/** The first claims that wait, as many as take this number of jobs. None where they might overtake one that came before them. */
export function waitersFor(line: WaitLine, jobs: number): Claim[] {
  const waiting = line.claims.filter((claim) => !claim.busy && isWaiting(claim));
  if (mightOvertake(line, waiting[0])) return [];
  const served: Claim[] = [];
  let slots = 0;
  for (const claim of waiting) {
    if (slots >= jobs) break;
    slots += slotsOf(claim);
    served.push(claim);
  }
  return served;
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

  /** A line that was dropped before leaves the newer line of its queue alone. */
  function dropIfEmpty(line: WaitLine): void {
    if (line.claims.length > 0 || line.joining) return;
    if (lines.get(line.name) === line) lines.delete(line.name);
    byMoment[line.moment]?.delete(line);
  }

  return {
    dropIfEmpty,
    find: (name: string): WaitLine | undefined => lines.get(name),
    all: (): WaitLine[] => [...lines.values()],
    ofMoment: (moment: number): Set<WaitLine> => byMoment[moment % MOMENTS] as Set<WaitLine>,
    claims: (): Claim[] => [...lines.values()].flatMap((line) => line.claims),

    of(name: string): WaitLine {
      let line = lines.get(name);
      if (!line) {
        line = openLine(name, opened++ % MOMENTS);
        lines.set(name, line);
        byMoment[line.moment]?.add(line);
      }
      return line;
    },

    /** Takes a claim out of all of its lines. */
    leaveAll(claim: Claim): void {
      for (const name of claim.queues) {
        const line = lines.get(name);
        if (!line) continue;
        leave(line, claim);
        dropIfEmpty(line);
      }
    },
  };
}

export type WaitLines = ReturnType<typeof createWaitLines>;
