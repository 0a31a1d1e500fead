import { overloaded, Refusal } from '../errors.ts';
import { backInLine, CLAIM_BYTES, type Claim, hasLooked, isGivenUp, slotsOf } from './claim.ts';
import type { Action } from './events.ts';
import {
  createWaitLines,
  hasReason,
  isAtRest,
  isOutside,
  isVisitorOf,
  type Statement,
  type WaitLine,
} from './waitLine.ts';

/* The moves of claims and wait lines. step.ts decides when each is made. */

/** What is known of the databases that the queues are in. */
export interface Whereabouts {
  /** Two queues are in the same database if this is the same. */
  databaseOf(queue: string): unknown;
  /** Whether the database of a queue is known not to answer. */
  isAway(queue: string): boolean;
}

const ONE_DATABASE: Whereabouts = { databaseOf: () => undefined, isAway: () => false };

export const newState = (whereabouts = ONE_DATABASE) => ({
  ...whereabouts,
  lines: createWaitLines(),
  arrivals: 0,
  isClosed: false,
  actions: [] as Action[],
});

export type State = ReturnType<typeof newState>;

function end({ lines }: State, claim: Claim): void {
  claim.state = 'answered';
  lines.leaveAll(claim);
}

/** Answers a claim with what it has. */
export function finish(state: State, claim: Claim): void {
  end(state, claim);
  // The jobs of a claim with a name are not given back here: a repeat may still get them (repeatable.ts).
  if (claim.wish === 'gone' && !claim.name && claim.jobs.length > 0)
    state.actions.push({ type: 'give back', jobs: claim.jobs.splice(0) });
  const isServed = claim.jobs.length > 0 || isGivenUp(claim);
  if (claim.unsure && claim.jobs.length === 0)
    state.actions.push({ type: 'refuse', claim, error: claim.unsure });
  else if (claim.starved && !isServed) state.actions.push({ type: 'refuse', claim, error: overloaded() });
  else if (!claim.seen && !isServed) state.actions.push({ type: 'refuse', claim, error: claim.failure });
  else state.actions.push({ type: 'answer', claim });
}

/** Refuses a claim. If it has jobs already, it is answered with them. */
export function fail(state: State, claim: Claim, error: unknown): void {
  if (claim.jobs.length > 0 || isGivenUp(claim)) {
    finish(state, claim);
  } else {
    end(state, claim);
    state.actions.push({ type: 'refuse', claim, error });
  }
}

/** Has a line join the next round trip of its queue, if it has a reason to look. */
export function joinNextTrip({ actions }: State, line: WaitLine, visit?: 'first' | 'next'): void {
  if (line.state !== 'idle' || isOutside(line) || !hasReason(line)) return;
  line.state = 'joining';
  line.asked = line.wakes;
  actions.push({ type: 'ask', line, visit });
}

export function wake(state: State, line: WaitLine): void {
  line.wakes++;
  line.woken = true;
  joinNextTrip(state, line);
}

/** A claim does not visit the next of its queues that are out of reach. It still waits for them. */
function passOver(claim: Claim, isOut: (queue: string) => boolean): void {
  while (!hasLooked(claim) && isOut(claim.queues[claim.visit] as string)) claim.visit++;
}

/**
 * Whether a claim that came would find nothing: in each of its queues others wait in front of it, and nobody has heard of a
 * job there since they looked. A claim with a name or a session has to look all the same: its row is written, or its
 * session checked.
 */
const isBehindOthers = ({ lines, isAway }: State, claim: Claim): boolean =>
  claim.wish === 'wait' &&
  claim.name === undefined &&
  claim.session === undefined &&
  claim.queues.every((queue) => !isAway(queue) && isAtRest(lines.of(queue)));

/** A claim that came visits its first queue. If others can serve it, it passes over those whose database is away. */
export function visitFirst(state: State, claim: Claim): void {
  if (isBehindOthers(state, claim)) {
    claim.visit = claim.queues.length;
    claim.seen = true;
    backInLine(claim);
    return;
  }
  if (!claim.queues.every(state.isAway)) passOver(claim, state.isAway);
  joinNextTrip(state, state.lines.of(claim.queues[claim.visit] as string), 'first');
}

/** Decides what a claim does after a statement that served it, or that showed its queue to be empty. */
export function proceed(state: State, claim: Claim, line: WaitLine): void {
  claim.seen = true;
  const isVisit = !hasLooked(claim);
  if (isVisit && !isOver(claim)) {
    claim.visit++;
    const here = state.databaseOf(line.name);
    passOver(claim, (queue) => state.databaseOf(queue) !== here && state.isAway(queue));
  }
  goOn(state, claim, line, isVisit);
}

const isOver = (claim: Claim) => slotsOf(claim) === 0 || claim.bytes >= CLAIM_BYTES || isGivenUp(claim);

/** A claim that has been at the queue of `line` visits its next queue, waits, or is answered. */
function goOn(state: State, claim: Claim, line: WaitLine, isVisit: boolean): void {
  backInLine(claim);
  if (isOver(claim)) {
    finish(state, claim);
  } else if (claim.state === 'visiting') {
    joinNextTrip(state, state.lines.of(claim.queues[claim.visit] as string), 'next');
  } else if (claim.jobs.length > 0 || claim.wish === 'look') {
    finish(state, claim);
  } else {
    for (const name of claim.queues) {
      const other = state.lines.of(name);
      if (isVisit && !other.missing) state.actions.push({ type: 'tell', queue: name });
      // `line` itself goes on when all claims of the statement have been dealt with (`left`).
      if (other !== line) joinNextTrip(state, other);
    }
  }
}

/**
 * The database of this line failed a claim. If it has queues in other databases, it goes on there, and waits for its
 * queues here all the same. If not, it is refused. `mayHaveLeased`: its statement may have leased jobs.
 */
export function goElsewhere(
  state: State,
  claim: Claim,
  line: WaitLine,
  { error, mayHaveLeased }: { error: unknown; mayHaveLeased: boolean },
): void {
  const here = state.databaseOf(line.name);
  const isHere = (queue: string) => state.databaseOf(queue) === here;
  const isOutage = error instanceof Refusal && error.code === 'unavailable';
  if (!isOutage || claim.queues.every((queue) => isHere(queue) || state.isAway(queue))) {
    fail(state, claim, error);
    return;
  }
  const isVisit = !hasLooked(claim);
  const visited = claim.visit;
  // What it may have leased here is given back, with all that has its name (lostLeases.ts). So it may lease no more here.
  if (mayHaveLeased && claim.name) state.lines.leave(claim, isHere);
  passOver(claim, (queue) => isHere(queue) || state.isAway(queue));
  if (claim.visit === visited && !mayHaveLeased) return;
  claim.failure = error;
  goOn(state, claim, line, isVisit);
}

/** Puts claims into a statement. Until it is known that all of them get jobs, no later claim of the line is served. */
export function enterStatement(line: WaitLine, claims: Claim[], visitors: Claim[]): Statement {
  for (const claim of claims) claim.state = 'in a statement';
  const slots = claims.reduce((sum, claim) => sum + slotsOf(claim), 0);
  const statement = { line, claims, visitors, slots, isOutside: false, isFilled: false };
  line.statements.push(statement);
  return statement;
}

export function leaveStatement(statement: Statement): void {
  const { line } = statement;
  line.statements.splice(line.statements.indexOf(statement), 1);
  unblock(line);
}

export function unblock(line: WaitLine): void {
  if (line.state === 'blocked') line.state = 'idle';
}

/** The queue has no job for these visitors. Those with a name write their rows first, so that repeats find them. */
export function foundNothing(state: State, line: WaitLine, visitors: Claim[]): void {
  const named: Claim[] = [];
  for (const claim of visitors) {
    if (!isVisitorOf(line, claim)) continue;
    if (claim.name && !isGivenUp(claim)) named.push(claim);
    else proceed(state, claim, line);
  }
  if (named.length === 0) return;
  state.actions.push({ type: 'write names', statement: enterStatement(line, named, []) });
}
