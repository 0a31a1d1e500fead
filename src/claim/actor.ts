import { runForAll } from '../askers.ts';
import { ORDER_IN_TRIP, type RoundTrip } from '../batching/roundTrip.ts';
import type { Queue } from '../queues/cache.ts';
import type { LeasedJob } from '../verbs/claims.ts';
import type { Claim } from './claim.ts';
import { type ClaimDatabase, type ClaimPlaces, placeOf } from './claimPlaces.ts';
import type { Action, Event } from './events.ts';
import { groupBy } from './groupBy.ts';
import type { Leases } from './leasedJob.ts';
import { alarms } from './limits.ts';
import { newState, type State } from './moves.ts';
import type { OpenClaims } from './openClaims.ts';
import type { Paces } from './paces.ts';
import { step } from './step.ts';
import type { Statement, WaitLine } from './waitLine.ts';

/** The part that a wait line has in a round trip. It lasts from the look for the queue to the end of the statement. */
interface Part {
  visit?: keyof Paces | undefined;
  database?: ClaimDatabase;
  queue?: Queue | undefined;
  trip?: RoundTrip;
  /** The round trip has begun. From then on, the line may join the next one. */
  hasBegun: boolean;
}

/** Carries out what step.ts decides: all the I/O of claims. */
export class Actor {
  readonly state: State;
  readonly #places: ClaimPlaces;
  readonly #open: OpenClaims;
  readonly #running = new Set<Promise<unknown>>();
  readonly #wakeAfter = alarms((queue) => this.act({ type: 'woken', queue }));

  constructor(places: ClaimPlaces, open: OpenClaims) {
    this.#places = places;
    this.state = newState({
      databaseOf: places.known,
      isAway: (queue) => placeOf(places, queue).isAway(),
    });
    this.#open = open;
  }

  /** How many lines look, or wait for a place to look, at a queue that their claims visit. */
  places(): number {
    return this.#places.all().reduce((sum, { paces }) => sum + paces.first.held() + paces.next.held(), 0);
  }

  /** Carries out what an event leads to. Returns what that began in the round trip of `part`. */
  act(event: Event, part?: Part): Promise<void> | undefined {
    let begun: Promise<void> | undefined;
    for (const action of step(this.state, event)) {
      if (action.type === 'join') begun = this.#join(action.line, part as Part);
      else if (action.type === 'lease') begun = this.#lease(action.statement, part as Part);
      else this.#carryOut(action);
    }
    return begun;
  }

  #carryOut(action: Exclude<Action, { type: 'join' | 'lease' }>): void {
    switch (action.type) {
      case 'ask':
        void this.#ask(action);
        break;
      case 'write names':
        this.#keep(this.#writeNames(action.statement));
        break;
      case 'tell':
        placeOf(this.#places, action.queue).notifier.waiting([action.queue]);
        break;
      case 'answer':
        this.#end(action.claim);
        action.claim.answer(action.claim.jobs);
        break;
      case 'refuse':
        this.#end(action.claim);
        action.claim.refuse(action.error);
        break;
      case 'give back':
        this.#giveBack(action.jobs);
    }
  }

  /** Has a line look though nobody woke it. Undefined when it has no reason to look, or is about to look anyway. */
  look(line: WaitLine): Promise<void> | undefined {
    const [action] = step(this.state, { type: 'look due', line });
    return action?.type === 'ask' ? this.#ask(action) : undefined;
  }

  /** Lets waiting claims join a round trip of others. Returns how many slots they have, and the trip as they see it. */
  goAlong(database: ClaimDatabase, queue: Queue, jobs: number, trip: RoundTrip, ended: () => void) {
    const [action] = step(this.state, { type: 'passing', queue: queue.name, jobs });
    if (action?.type !== 'lease') return undefined;
    const { statement } = action;
    const beside = trip.beside(ORDER_IN_TRIP.claim);
    const leasing = this.#lease(statement, { database, queue, trip: beside, hasBegun: true })
      .catch(() => undefined)
      .finally(() => {
        ended();
        this.act({ type: 'left', line: statement.line, hadBegun: true });
      });
    this.#keep(leasing);
    return { slots: statement.slots, trip: beside };
  }

  /** Settles when nothing is under way any more. Then all that it leased to claims that hung up is being given back. */
  async idle(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
  }

  #keep(run: Promise<unknown>): void {
    const kept: Promise<unknown> = run.finally(() => this.#running.delete(kept));
    this.#running.add(kept);
  }

  #giveBack(jobs: LeasedJob[]): void {
    const { known, find } = this.#places;
    for (const [queue, own] of groupBy(jobs, (job) => job.queue)) {
      if (!find || known(queue)) placeOf(this.#places, queue).giveBack(own);
      // If nobody tells where they are, the leases run out.
      else
        this.#keep(
          find(queue).then(
            (found) => found?.giveBack(own),
            () => undefined,
          ),
        );
    }
  }

  #end(claim: Claim): void {
    this.#open.giveBack(claim.by);
    clearTimeout(claim.timer);
  }

  #ask({ line, visit }: Extract<Action, { type: 'ask' }>): Promise<void> {
    const part: Part = { visit, hasBegun: false };
    const taking = this.#takePart(line, part);
    const run = taking
      .catch((error) => this.act({ type: 'failed', line, error }))
      .then(() => this.act({ type: 'left', line, hadBegun: part.hasBegun }));
    this.#keep(run);
    return taking;
  }

  async #takePart(line: WaitLine, part: Part): Promise<void> {
    await this.#findQueue(line.name, part);
    const exists = part.queue !== undefined;
    part.hasBegun = !exists;
    await this.act({ type: 'asked', line, exists }, part);
  }

  /** Finds the queue of a part, also where it was created or moved to a moment ago. */
  async #findQueue(name: string, part: Part): Promise<void> {
    const { known, find } = this.#places;
    const lookIn = async (database: ClaimDatabase | undefined) => {
      if (!database) return;
      part.database = database;
      part.queue = await database.queues.byName(name);
    };
    const before = known(name);
    await lookIn(before);
    if (part.queue || !find) return;
    const now = await find(name);
    if (now !== before) await lookIn(now);
  }

  #join(line: WaitLine, part: Part): Promise<void> {
    const begin = async (trip: RoundTrip) => {
      part.hasBegun = true;
      part.trip = trip;
      await this.act({ type: 'began', line, trip }, part);
    };
    const { paces, joinRoundTrip } = part.database as ClaimDatabase;
    return joinRoundTrip((part.queue as Queue).id, begin, part.visit && paces[part.visit]);
  }

  async #lease(statement: Statement, part: Part): Promise<void> {
    const { line, claims } = statement;
    const trip = part.trip as RoundTrip;
    const { leaseJobs } = part.database as ClaimDatabase;
    const filled = () => void this.act({ type: 'filled', statement });
    let leases: Leases;
    try {
      const leasing = runForAll(claims, () => leaseJobs(part.queue as Queue, claims, trip, filled));
      this.act({ type: 'sent', statement, isOutside: trip.number === undefined });
      leases = await leasing;
    } catch (error) {
      this.act({ type: 'failed', line, statement, error });
      throw error;
    }
    if (leases.opensInMs !== undefined) this.#wakeAfter(line.name, leases.opensInMs);
    this.act({ type: 'leased', statement, leases });
  }

  async #writeNames(statement: Statement): Promise<void> {
    const { ownWithoutLeasing } = placeOf(this.#places, statement.line.name);
    const written = await ownWithoutLeasing(statement.claims).then(
      () => ({}),
      (error) => ({ error }),
    );
    this.act({ type: 'named', statement, ...written });
  }
}
