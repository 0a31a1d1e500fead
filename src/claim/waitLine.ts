import type { RoundTrip } from '../batching/roundTrips.ts';
import { CLAIM_BYTES, type Consumer, type Shares } from './lease.ts';
import type { LeasedJob } from './leasedJob.ts';

/** A claim on its way through the lines of its queues. */
export interface Claimant extends Consumer {
  /** Order of arrival. */
  turn: number;
  queues: string[];
  jobs: LeasedJob[];
  /** The queue it visits on its first pass; past the last one it waits in all lines at once. */
  visit: number;
  /** In a statement at this moment; other lines leave it alone, so that it never gets more than its limit. */
  busy: boolean;
}

export interface Line {
  name: string;
  claimants: Claimant[];
  /** Takes part in the next round of its queue. */
  joining: boolean;
  /** A statement outside of any round is under way, which is waited for: later claims must not overtake those in it. */
  held: boolean;
  /** Something may be ready that was not when the line last looked. */
  woken: boolean;
  /** In which round it looked last. */
  trip: RoundTrip | undefined;
  /** How often it was woken, for those who look at another line meanwhile. */
  wakes: number;
  /** How many waiting claimants the next statement serves: grows while all of them get something. */
  width: number;
}

const FIRST_WIDTH = 16;
const WIDEST = 1024;
const MOST_SLOTS = 1000;

export const openLine = (name: string): Line => ({
  name,
  claimants: [],
  joining: false,
  held: false,
  woken: false,
  trip: undefined,
  wakes: 0,
  width: FIRST_WIDTH,
});

/** Puts a claimant into a line, by order of arrival. */
export function join(line: Line, claimant: Claimant): void {
  let at = line.claimants.length;
  while (at > 0 && (line.claimants[at - 1] as Claimant).turn > claimant.turn) at--;
  line.claimants.splice(at, 0, claimant);
}

export function leave(line: Line, claimant: Claimant): void {
  const at = line.claimants.indexOf(claimant);
  if (at >= 0) line.claimants.splice(at, 1);
}

const isVisiting = (line: Line, c: Claimant) => c.visit < c.queues.length && c.queues[c.visit] === line.name;
/** Whether a claimant has looked at all of its queues, and found nothing. */
export const isWaiting = (c: Claimant) => c.visit === c.queues.length;

/** Whether there is a reason to look into the queue, and somebody to look for. */
export const hasReason = (line: Line): boolean =>
  line.claimants.some((c) => !c.busy && (isVisiting(line, c) || (line.woken && isWaiting(c))));

/** Who is served by the next statement: the first in line, as long as there is a reason to look at all. */
export function nextBatch(line: Line): { served: Claimant[]; visitors: Claimant[] } {
  const eligible = line.claimants.filter((c) => !c.busy && (isVisiting(line, c) || isWaiting(c)));
  const visitors = eligible.filter((c) => isVisiting(line, c));
  if (visitors.length === 0 && !line.woken) return { served: [], visitors };
  const served: Claimant[] = [];
  let slots = 0;
  for (const c of eligible) {
    slots += c.limit - c.jobs.length;
    if (served.length === line.width || (served.length > 0 && slots > MOST_SLOTS)) break;
    served.push(c);
  }
  return { served, visitors };
}

/** Whether the queue may hold more than a statement gave, and with it how many are served next. */
export function mayHoldMore(line: Line, asked: number, { jobs: got, cut }: Shares): boolean {
  let rows = 0;
  let characters = 0;
  for (const jobs of got) {
    rows += jobs.length;
    for (const job of jobs) characters += job.payload.length;
  }
  // A character of a JSON text is at most 3 bytes of UTF-8 here (4 bytes make two UTF-16 units).
  const more = cut || rows === asked || characters * 3 >= CLAIM_BYTES;
  line.width = more ? Math.min(line.width * 4, WIDEST) : FIRST_WIDTH;
  return more;
}
