import { overloaded } from '../errors.ts';
import { backInLine, CLAIM_BYTES, type Claim, hasLooked, isGivenUp, slotsOf } from './claim.ts';
import type { Action } from './events.ts';
import {
  createWaitLines,
  hasReason,
  isOutside,
  isVisitorOf,
  type Statement,
  type WaitLine,
} from './waitLine.ts';

/* The moves of claims and wait lines. step.ts decides when each is made. */

export const newState = () => ({
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
  if (claim.starved && claim.jobs.length === 0 && !isGivenUp(claim))
    state.actions.push({ type: 'refuse', claim, error: overloaded() });
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

/** Decides what a claim does after a statement that served it, or that showed its queue to be empty. */
export function proceed(state: State, claim: Claim, line: WaitLine): void {
  const isOver = slotsOf(claim) === 0 || claim.bytes >= CLAIM_BYTES || isGivenUp(claim);
  const isVisit = !hasLooked(claim);
  if (isVisit && !isOver) claim.visit++;
  backInLine(claim);
  if (isOver) {
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
