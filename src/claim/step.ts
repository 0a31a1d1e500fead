import type { LeasedJob } from '../verbs/claims.ts';
import { isGivenUp, standAgain, wantOnly } from './claim.ts';
import type { Action, Event } from './events.ts';
import {
  enterStatement,
  fail,
  findNothing,
  finish,
  leaveStatement,
  proceed,
  pump,
  type State,
  unblock,
  wake,
} from './moves.ts';
import { isOutside, isVisitorOf, mayHoldMore, nextBatch, waitersFor } from './waitLine.ts';

/*
 * Serves claims in the order in which they came. A claim visits its queues one after the other, and takes all that it can get.
 * If it found nothing, it waits in the wait lines of all of them until it is woken.
 *
 * This is all that decides so: no I/O, no clock, no promise. `step` is told what happened, and says what to do
 * (dispatcher.ts does it). test/claim/step.test.ts drives it through random events.
 */

const handlers: { [Type in Event['type']]: (state: State, event: Extract<Event, { type: Type }>) => void } = {
  arrived(state, { claim }) {
    claim.arrival = state.arrivals++;
    if (state.isClosed) wantOnly(claim, 'look');
    state.lines.enterAll(claim);
    pump(state, state.lines.of(claim.queues[0] as string), 'first');
  },

  'wait over'(state, { claim }) {
    wantOnly(claim, 'look');
    // A claim that has not looked everywhere yet still does.
    if (claim.state === 'waiting') finish(state, claim);
  },

  'hung up'(state, { claim }) {
    if (claim.wish === 'gone') return;
    claim.wish = 'gone';
    if (claim.state === 'answered') {
      if (!claim.name) state.actions.push({ type: 'give back', jobs: claim.jobs });
    } else if (claim.state !== 'in a statement') finish(state, claim);
    // A claim in a statement is answered after it.
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
    pump(state, line);
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
    // Somebody may have created the queue after the look for it, and woken the line. It asks again.
    if (line.wakes !== line.asked) return;
    line.missing = true;
    line.woken = false;
    line.leaves = true;
    const visitors = line.claims.filter((claim) => isVisitorOf(line, claim));
    findNothing(state, line, visitors);
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
    pump(state, line);
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
      // A claim that got nothing although there is more is among the first of the next statement.
      const isNext = more && leases.jobs[i]?.length === 0 && !isGivenUp(claim);
      if (isNext) standAgain(claim);
      else proceed(state, claim, line);
    }
    if (!more) findNothing(state, line, visitors);
  },

  failed(state, { line, statement, error }) {
    if (statement) {
      leaveStatement(statement);
      for (const claim of statement.claims) standAgain(claim);
      // A claim that is in a statement elsewhere looks here when it comes back.
      line.woken = true;
    }
    for (const claim of [...line.claims]) if (claim.state !== 'in a statement') fail(state, claim, error);
  },

  named(state, { statement, error }) {
    const { line, claims } = statement;
    leaveStatement(statement);
    for (const claim of claims) {
      if (error === undefined) proceed(state, claim, line);
      else fail(state, claim, error);
    }
    pump(state, line);
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
