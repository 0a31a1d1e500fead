import fc from 'fast-check';
import { expect, test } from 'vitest';
import { newState } from '../../src/claim/moves.ts';
import { step } from '../../src/claim/step.ts';
import { type Fault, withFault } from './support/faulty.ts';
import { type Core, World } from './support/world.ts';

const SEQUENCES = 100_000;
/** Of this number of sequences, at least one shows a fault: most need fewer than 1000. */
const FOR_A_FAULT = 20_000;

/** Plays one sequence of events. The numbers decide what happens. */
function play(core: Core, numbers: number[]): void {
  let at = 0;
  const world = new World(core, (choices) => (numbers[at++] ?? 0) % choices);
  while (at < numbers.length) world.happen();
  world.end();
}

const sequences = fc.array(fc.nat(2 ** 16 - 1), { minLength: 10, maxLength: 160, size: 'max' });
const promises = (core: Core) => fc.property(sequences, (numbers) => play(core, numbers));

test('claims keep their promises through any order of events', () => {
  fc.assert(promises({ newState, step }), { numRuns: SEQUENCES });
});

const FAULTS: Fault[] = [
  {
    what: 'a statement takes claims behind one that may get nothing in the statement before',
    file: 'waitLine.ts',
    from: 'if (claim.arrival > undecided) return { claims, visitors, isBlocked: claims.length === 0 };',
    to: 'if (claims.length === 0 && claim.arrival > undecided) return { claims, visitors, isBlocked: true };',
  },
  {
    what: 'claims that go along overtake one that visits the queue',
    file: 'waitLine.ts',
    from: '|| claim.arrival > undecided || isVisitorOf(line, claim)) break;',
    to: '|| claim.arrival > undecided) break;',
  },
  {
    what: 'nobody looks again for what a full statement left',
    file: 'step.ts',
    from: 'if (more) line.woken = true;',
    to: '',
  },
  {
    what: 'a claim that looked in the round trip before is taken to have seen the jobs',
    file: 'step.ts',
    from: '(line.trip?.number ?? 0) < trip)',
    to: '(line.trip?.number ?? 0) < trip - 1)',
  },
  {
    what: 'a queue that was created during the look for it is missed',
    file: 'step.ts',
    from: 'if (line.wakes !== line.asked) return;',
    to: '',
  },
  {
    what: 'a hang-up keeps what it leased',
    file: 'moves.ts',
    from: "state.actions.push({ type: 'give back', jobs: claim.jobs.splice(0) });",
    to: '{}',
  },
  {
    what: 'a claim whose consumer hung up goes on to its next queue',
    file: 'moves.ts',
    from: 'claim.bytes >= CLAIM_BYTES || isGivenUp(claim);',
    to: 'claim.bytes >= CLAIM_BYTES;',
  },
  {
    what: 'a claim with a claim_id finds nothing, and its row is not written',
    file: 'moves.ts',
    from: 'if (claim.name && !isGivenUp(claim)) named.push(claim);',
    to: 'if (claim.name && isGivenUp(claim)) named.push(claim);',
  },
  {
    what: 'a claim gets jobs beyond its limit',
    file: 'moves.ts',
    from: 'const isOver = (claim: Claim) => slotsOf(claim) === 0 ||',
    to: 'const isOver = (claim: Claim) =>',
  },
  {
    what: 'a claim that memory kept empty is answered that there is no job',
    file: 'moves.ts',
    from: 'if (claim.starved && !isServed)',
    to: 'if (false)',
  },
  {
    what: 'an outage refuses claims that another database can serve',
    file: 'moves.ts',
    from: 'if (!isOutage || claim.queues.every((queue) => isHere(queue) || state.isAway(queue))) {',
    to: 'if (true) {',
  },
  {
    what: 'a claim that no database has served is answered that there is no job',
    file: 'moves.ts',
    from: 'else if (!claim.seen && !isServed)',
    to: 'else if (false)',
  },
  {
    what: 'a claim with a claim_id leases again where all that it has leased is given back',
    file: 'moves.ts',
    from: 'if (mayHaveLeased && claim.name) state.lines.leave(claim, isHere);',
    to: '',
  },
  {
    what: 'a claim looks at a database that is away while others could serve it',
    file: 'moves.ts',
    from: 'if (!claim.queues.every(state.isAway)) passOver(claim, state.isAway);',
    to: '',
  },
  {
    what: 'a line whose database is away looks again and again',
    file: 'step.ts',
    from: "if (line.claims.some((claim) => claim.state !== 'in a statement')) line.woken = false;",
    to: '',
  },
  {
    what: 'a claim that does not wait is kept behind those that do',
    file: 'moves.ts',
    from: "claim.wish === 'wait' &&",
    to: '',
  },
  {
    what: 'a claim waits behind nobody, and so nobody has looked',
    file: 'waitLine.ts',
    from: "line.claims.some(({ state, starved }) => state === 'waiting' && !starved);",
    to: 'true;',
  },
  {
    what: 'the line does not go on when the rows of claims are written',
    file: 'step.ts',
    from: `    joinNextTrip(state, line);
    state.lines.dropIfEmpty(line);
  },
};`,
    to: `    state.lines.dropIfEmpty(line);
  },
};`,
  },
];

test.each(FAULTS)('a fault is found: $what', (fault) =>
  withFault(fault, (core) => {
    const { failed } = fc.check(promises(core), {
      numRuns: FOR_A_FAULT,
      // With these numbers, each fault shows.
      seed: 7,
      endOnFailure: true,
    });
    expect(failed).toBe(true);
  }),
);
