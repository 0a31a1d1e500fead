import { runForAll } from '../askers.ts';
import { type JoinRoundTrip, ORDER_IN_TRIP, type RoundTrip } from '../batching/roundTrip.ts';
import { createSemaphore, type Semaphore } from '../postgres/semaphore.ts';
import type { Queue, Queues } from '../queues/cache.ts';
import type { Notifier } from '../replicas/notifier.ts';
import type { LeasedJob } from '../verbs/claims.ts';
import type { Claim } from './claim.ts';
import type { Action, Event } from './events.ts';
import type { Leases } from './leasedJob.ts';
import { alarms } from './limits.ts';
import { newState } from './moves.ts';
import type { OpenClaims } from './openClaims.ts';
import { AT_ONCE } from './polls.ts';
import { step } from './step.ts';
import type { Statement, WaitLine } from './waitLine.ts';

/** First looks of claims take at most this share of the connections. Round trips that run anyway do not count. */
const FIRST_LOOKS = 0.6;

export interface ActorOptions {
  leaseJobs(queue: Queue, claims: Claim[], trip: RoundTrip, filled: () => void): Promise<Leases>;
  /** Notes which claims with a name may not lease, of those that look at an empty queue. */
  ownWithoutLeasing(claims: Claim[]): Promise<void>;
  queues: Queues;
  joinRoundTrip: JoinRoundTrip;
  /** How many connections to the database there are. */
  connections: number;
  giveBack(jobs: LeasedJob[]): void;
  notifier: Notifier;
}

/** The part that a wait line has in a round trip. It lasts from the look for the queue to the end of the statement. */
interface Part {
  pace?: Semaphore | undefined;
  queue?: Queue | undefined;
  trip?: RoundTrip;
  /** The round trip has begun. From then on, the line may join the next one. */
  hasBegun: boolean;
}

/** Carries out what step.ts decides: all the I/O of claims. */
export class Actor {
  readonly state = newState();
  readonly #options: ActorOptions;
  readonly #open: OpenClaims;
  readonly #running = new Set<Promise<unknown>>();
  readonly #wakeAfter = alarms((queue) => this.act({ type: 'woken', queue }));
  readonly #paces: { first: Semaphore; next: Semaphore };

  constructor(options: ActorOptions, open: OpenClaims) {
    this.#options = options;
    this.#open = open;
    this.#paces = {
      // Thousands of claims that come at once leave connections to other verbs.
      first: createSemaphore(Math.ceil(options.connections * FIRST_LOOKS)),
      // 300 claims of 16 queues each would otherwise look at 300 of them at once.
      next: createSemaphore(AT_ONCE),
    };
  }

  /** How many lines look, or wait for a place to look, at a queue that their claims visit. */
  places(): number {
    return this.#paces.first.held() + this.#paces.next.held();
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
        this.#options.notifier.waiting([action.queue]);
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
        this.#options.giveBack(action.jobs);
    }
  }

  /** Has a line look though nobody woke it. Undefined when it has no reason to look, or is about to look anyway. */
  look(line: WaitLine): Promise<void> | undefined {
    const [action] = step(this.state, { type: 'look due', line });
    return action?.type === 'ask' ? this.#ask(action) : undefined;
  }

  /** Lets waiting claims join a round trip of others. Returns how many slots they have, and the trip as they see it. */
  goAlong(queue: Queue, jobs: number, trip: RoundTrip, ended: () => void) {
    const [action] = step(this.state, { type: 'passing', queue: queue.name, jobs });
    if (action?.type !== 'lease') return undefined;
    const { statement } = action;
    const beside = trip.beside(ORDER_IN_TRIP.claim);
    const leasing = this.#lease(statement, { queue, trip: beside, hasBegun: true })
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

  #end(claim: Claim): void {
    this.#open.giveBack(claim.by);
    clearTimeout(claim.timer);
  }

  #ask({ line, visit }: Extract<Action, { type: 'ask' }>): Promise<void> {
    const part: Part = { pace: visit && this.#paces[visit], hasBegun: false };
    const taking = this.#takePart(line, part);
    const run = taking
      .catch((error) => this.act({ type: 'failed', line, error }))
      .then(() => this.act({ type: 'left', line, hadBegun: part.hasBegun }));
    this.#keep(run);
    return taking;
  }

  async #takePart(line: WaitLine, part: Part): Promise<void> {
    part.queue = await this.#options.queues.byName(line.name);
    const exists = part.queue !== undefined;
    part.hasBegun = !exists;
    await this.act({ type: 'asked', line, exists }, part);
  }

  #join(line: WaitLine, part: Part): Promise<void> {
    const begin = async (trip: RoundTrip) => {
      part.hasBegun = true;
      part.trip = trip;
      await this.act({ type: 'began', line, trip }, part);
    };
    return this.#options.joinRoundTrip((part.queue as Queue).id, begin, part.pace);
  }

  async #lease(statement: Statement, part: Part): Promise<void> {
    const { line, claims } = statement;
    const trip = part.trip as RoundTrip;
    const filled = () => void this.act({ type: 'filled', statement });
    let leases: Leases;
    try {
      const leasing = runForAll(claims, () =>
        this.#options.leaseJobs(part.queue as Queue, claims, trip, filled),
      );
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
    const written = await this.#options.ownWithoutLeasing(statement.claims).then(
      () => ({}),
      (error) => ({ error }),
    );
    this.act({ type: 'named', statement, ...written });
  }
}
