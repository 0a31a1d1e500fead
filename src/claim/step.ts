import type { LeasedJob } from '../verbs/claims.ts';
import { backInLine, isGivenUp, wantOnly } from './claim.ts';
import type { Action, Event } from './events.ts';
import {
  enterStatement,
  finish,
  foundNothing,
  goElsewhere,
  joinNextTrip,
  leaveStatement,
  proceed,
  type State,
  unblock,
  visitFirst,
  wake,
} from './moves.ts';
import { isOutside, isVisitorOf, mayHoldMore, nextBatch, waitersFor } from './waitLine.ts';

/*
 * Serves claims in the order in which they came. A claim visits its queues one after the other, and takes all that it
 * can get. If it found nothing, it waits in the wait lines of all of them until it is woken.
 *
 * This file and moves.ts decide all of that, without I/O, clock or promise. `step` is told what happened. It returns
 * what to do, and actor.ts does it. test/claim/step.test.ts drives it through random events.
 */

const handlers: { [Type in Event['type']]: (state: State, event: Extract<Event, { type: Type }>) => void } = {
  arrived(state, { claim }) {
    claim.arrival = state.arrivals++;
    if (state.isClosed) wantOnly(claim, 'look');
    state.lines.enterAll(claim);
    visitFirst(state, claim);
  },

  'wait over'(state, { claim }) {
    wantOnly(claim, 'look');
    // A claim that has not looked at all of its queues yet still does.
    if (claim.state === 'waiting') finish(state, claim);
  },

  'hung up'(state, { claim }) {
    if (claim.wish === 'gone') return;
    claim.wish = 'gone';
    if (claim.state === 'answered') {
      if (!claim.name) state.actions.push({ type: 'give back', jobs: claim.jobs });
    } else if (claim.state !== 'in a statement') finish(state, claim);
    // A claim in a statement is answered when the statement ends.
  },

  closed(state) {
    state.isClosed = true;
    for (const claim of state.lines.claims())
      if (claim.state !== 'answered') handlers['wait over'](state, { type: 'wait over', claim });
  },

  woken(state, { queue, trip }) {
    const line = state.lines.find(queue);
    if (line && (trip === undefined || (line.trip?.number ?? 0) < trip)) wake(state, line);
  },

  coming(state, { queue }) {
    const line = state.lines.find(queue);
    if (!line || line.leaves) return;
    line.woken = true;
    joinNextTrip(state, line);
  },

  passing({ lines, actions }, { queue, jobs }) {
    const line = lines.find(queue);
    if (!line || line.leaves || isOutside(line)) return;
    const claims = waitersFor(line, jobs);
    if (claims.length > 0) actions.push({ type: 'lease', statement: enterStatement(line, claims, []) });
  },

  'look due'(state, { line }) {
    if (state.lines.find(line.name) === line) wake(state, line);
  },

  asked(state, { line, exists }) {
    if (exists) {
      if (line.missing) state.actions.push({ type: 'tell', queue: line.name });
      line.missing = false;
      state.actions.push({ type: 'join', line });
      return;
    }
    line.state = 'idle';
    // The line was woken since it asked: somebody may have created the queue. `left` has it ask again.
    if (line.wakes !== line.asked) return;
    line.missing = true;
    line.woken = false;
    line.leaves = true;
    const visitors = line.claims.filter((claim) => isVisitorOf(line, claim));
    foundNothing(state, line, visitors);
  },

  began({ actions }, { line, trip }) {
    const { claims, visitors, isBlocked } = nextBatch(line);
    line.state = isBlocked ? 'blocked' : 'idle';
    if (claims.length === 0) return;
    line.woken = false;
    line.trip = trip;
    actions.push({ type: 'lease', statement: enterStatement(line, claims, visitors) });
  },

  left(state, { line, hadBegun }) {
    if (!hadBegun) line.state = 'idle';
    joinNextTrip(state, line);
    state.lines.dropIfEmpty(line);
  },

  sent(_, { statement, isOutside }) {
    statement.isOutside = isOutside;
    statement.line.leaves = isOutside;
  },

  filled(_, { statement }) {
    statement.isFilled = true;
    unblock(statement.line);
  },

  leased(state, { statement, leases }) {
    const { line, claims, visitors, slots } = statement;
    leaveStatement(statement);
    const more = mayHoldMore(line, slots, leases);
    if (more) line.woken = true;
    for (const [i, claim] of claims.entries()) {
      claim.jobs.push(...(leases.jobs[i] as LeasedJob[]));
      claim.starved = leases.scarce ?? false;
    }
    for (const [i, claim] of claims.entries()) {
      // There may be more jobs, and this claim got none. It stays in line, and is among the first of the next
      // statement.
      const isNext = more && leases.jobs[i]?.length === 0 && !isGivenUp(claim);
      if (isNext) backInLine(claim);
      else proceed(state, claim, line);
    }
    if (!more) foundNothing(state, line, visitors);
  },

  failed(state, { line, statement, error }) {
    if (statement) {
      leaveStatement(statement);
      for (const claim of statement.claims) backInLine(claim);
      // A claim of this line may be in a statement of another queue. It looks here when it is back.
      line.woken = true;
    }
    for (const claim of [...line.claims]) {
      const mayHaveLeased = statement?.claims.includes(claim) ?? false;
      if (claim.state !== 'in a statement') goElsewhere(state, claim, line, { error, mayHaveLeased });
    }
    // Claims that have queues in other databases stay in line. Somebody looks again in a second.
    if (line.claims.some((claim) => claim.state !== 'in a statement')) line.woken = false;
  },

  named(state, { statement, error }) {
    const { line, claims } = statement;
    leaveStatement(statement);
    for (const claim of claims) {
      if (error === undefined) proceed(state, claim, line);
      else {
        backInLine(claim);
        goElsewhere(state, claim, line, { error, mayHaveLeased: false });
      }
    }
    joinNextTrip(state, line);
    state.lines.dropIfEmpty(line);
  },
};

/** Takes one event. It changes the state in place, and returns what to do, in this order. */
export function step(state: State, event: Event): Action[] {
  handlers[event.type](state, event as never);
  const { actions } = state;
  state.actions = [];
  return actions;
}
