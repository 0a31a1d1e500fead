import {
  type Claim,
  type ClaimRequest,
  isGivenUp,
  newClaim,
  slotsOf,
  wantOnly,
} from '../../../src/claim/claim.ts';
import type { Action, Event } from '../../../src/claim/events.ts';
import type { Leases } from '../../../src/claim/leasedJob.ts';
import type { State, Whereabouts } from '../../../src/claim/moves.ts';
import type { Statement, Trip, WaitLine } from '../../../src/claim/waitLine.ts';
import { Refusal, unavailable } from '../../../src/errors.ts';
import type { Db } from '../../../src/postgres/pool.ts';
import type { LeasedJob } from '../../../src/verbs/claims.ts';

/** What decides: src/claim, or a copy of it with a fault. */
export interface Core {
  newState(whereabouts: Whereabouts): State;
  step(state: State, event: Event): Action[];
}

/** A promise of claims was broken. */
export class Broken extends Error {}

function promise(kept: boolean, what: string): asserts kept {
  if (!kept) throw new Broken(what);
}

/** A database. */
interface WorldDatabase {
  isAway: boolean;
  /** It failed a claim since it went away. */
  isKnownAway: boolean;
}

/** A queue of a database, as claims know it. */
interface WorldQueue {
  database: WorldDatabase;
  exists: boolean;
  /** Ready jobs. */
  jobs: LeasedJob[];
  /** How many jobs its limit still allows. */
  allowance: number;
}

/** A part of a line in a round trip: it asks for its queue, waits for the beginning, and then for its statement. */
interface Part {
  line: WaitLine;
  stage: 'asking' | 'joined' | 'begun';
  /** What it will be told of its queue. */
  exists: boolean;
}

/** A statement under way. */
interface Running {
  statement: Statement;
  trip: Trip;
  /** What it has leased, once it ran in the database. */
  leases: Leases | undefined;
  isTold: boolean;
  part: Part | undefined;
}

/** Any of this number of choices. */
export type Choose = (choices: number) => number;

const QUEUES = ['a', 'b', 'c'];
const DB = {} as Db;

/** Databases, their queues, and consumers. It does what `step` says, at any time, and checks what claims are promised. */
export class World {
  readonly #core: Core;
  readonly #state: State;
  #choose: Choose;
  readonly #queues = new Map<string, WorldQueue>();
  #parts: Part[] = [];
  #running: Running[] = [];
  #naming: Statement[] = [];
  readonly #open = new Set<Claim>();
  readonly #all: Claim[] = [];
  /** Jobs of answered claims. */
  readonly #held = new Set<LeasedJob>();
  #jobs = 0;
  #trip = 0;
  #isMemoryShort = false;
  readonly #databases: WorldDatabase[];
  /** The database that fails claims at this moment. */
  #failing: WorldDatabase | undefined;
  /** The databases where claims with names may have leased jobs that they do not know of. */
  readonly #unheard = new Map<Claim, WorldDatabase[]>();
  /** Nobody is told that there is memory again, or a database that serves: claims find out when they look. */
  #mustLook = false;

  constructor(core: Core, choose: Choose) {
    this.#core = core;
    this.#choose = choose;
    this.#state = core.newState({
      databaseOf: (queue) => this.#databaseOf(queue),
      isAway: (queue) => this.#databaseOf(queue).isKnownAway,
    });
    // All queues are in one database, or the last one is elsewhere, or each is.
    const databases = 1 + choose(3);
    this.#databases = Array.from({ length: databases }, () => ({ isAway: false, isKnownAway: false }));
    for (const [i, name] of QUEUES.entries())
      this.#queues.set(name, {
        database: this.#databases[Math.max(0, i + databases - 3)] as WorldDatabase,
        exists: i < 2,
        jobs: [],
        allowance: Number.POSITIVE_INFINITY,
      });
  }

  #queue = (name: string): WorldQueue => this.#queues.get(name) as WorldQueue;
  #databaseOf = (name: string): WorldDatabase => this.#queue(name).database;

  /** A look at a queue fails. It may be another failure than an outage. */
  #fail(event: Event & { type: 'failed' | 'named' }, name: string, isOutage: boolean): void {
    const database = this.#databaseOf(name);
    database.isKnownAway = database.isAway;
    this.#failing = database;
    this.#mustLook = true;
    this.#tell({ ...event, error: isOutage ? unavailable() : new Error('a fault') });
    this.#failing = undefined;
  }

  #tell(event: Event, trip?: Trip, part?: Part): void {
    for (const action of this.#core.step(this.#state, event)) this.#carryOut(action, trip, part);
  }

  #carryOut(action: Action, trip: Trip | undefined, part: Part | undefined): void {
    if (action.type === 'ask') {
      const { line } = action;
      const isTaken = this.#parts.some((other) => other.line === line && other.stage !== 'begun');
      promise(!isTaken, 'a line takes one part at once');
      this.#parts.push({ line, stage: 'asking', exists: this.#queue(line.name).exists });
    } else if (action.type === 'join') (part as Part).stage = 'joined';
    else if (action.type === 'lease') this.#begin(action.statement, trip as Trip, part);
    else if (action.type === 'write names') {
      this.#enter(action.statement);
      for (const { name } of action.statement.claims)
        promise(name !== undefined, 'only claims with names have rows');
      this.#naming.push(action.statement);
    } else if (action.type === 'answer') this.#answer(action.claim);
    else if (action.type === 'refuse') this.#refuse(action.claim, action.error);
    else if (action.type === 'give back') this.#giveBack(action.jobs);
  }

  #statements = () => [...this.#running.map(({ statement }) => statement), ...this.#naming];

  /** Checks a statement that begins. */
  #enter({ claims, line }: Statement): void {
    for (const [i, claim] of claims.entries()) {
      promise(this.#open.has(claim), 'an answered claim is in no statement');
      promise(!isGivenUp(claim), 'a claim that is given up is in no new statement');
      promise(slotsOf(claim) > 0, 'a claim that has all of its jobs is in no statement');
      promise(
        i === 0 || (claims[i - 1] as Claim).arrival < claim.arrival,
        'a statement has its claims in order',
      );
      promise(
        !this.#statements().some((other) => other.claims.includes(claim)),
        'a claim is in one statement',
      );
      promise(claim.queues.includes(line.name), 'a claim looks only at its own queues');
      const mayHaveLeased = this.#unheard.get(claim)?.includes(this.#databaseOf(line.name));
      promise(!mayHaveLeased, 'a claim with a name leases no more where its leases are given back');
    }
  }

  /** Nobody who could be served is passed over, and nobody who is in a statement that may give nothing. */
  #begin(statement: Statement, trip: Trip, part: Part | undefined): void {
    this.#enter(statement);
    const { claims, line } = statement;
    const last = claims.at(-1) as Claim;
    for (const claim of this.#open) {
      if (claims.includes(claim) || claim.arrival > last.arrival || !claim.queues.includes(line.name))
        continue;
      const isThere =
        claim.state === 'waiting' || (claim.state === 'visiting' && claim.queues[claim.visit] === line.name);
      promise(!isThere, 'nobody in line is overtaken');
    }
    for (const one of this.#statements()) {
      const isFull = this.#running.find(({ statement }) => statement === one)?.isTold ?? false;
      if (one.line !== line || isFull) continue;
      promise((one.claims[0] as Claim).arrival > last.arrival, 'nobody in a statement is overtaken');
    }
    this.#running.push({ statement, trip, leases: undefined, isTold: false, part });
    if (this.#choose(5) === 0) trip.number = undefined;
    this.#tell({ type: 'sent', statement, isOutside: trip.number === undefined });
  }

  #close(claim: Claim): void {
    promise(this.#open.delete(claim), 'a claim is answered once');
    promise(
      !this.#statements().some((one) => one.claims.includes(claim)),
      'no claim is answered in its statement',
    );
    promise(claim.jobs.length <= claim.limit, 'a claim gets no more than its limit');
  }

  #answer(claim: Claim): void {
    this.#close(claim);
    const isOut = isGivenUp(claim) || (claim.owned?.size ?? 0) > 0 || !claim.name;
    promise(isOut, 'a claim with a name is answered when its row is written');
    promise(
      !claim.starved || claim.jobs.length > 0 || isGivenUp(claim),
      'a claim that memory kept empty is refused',
    );
    promise(claim.seen || isGivenUp(claim), 'a claim that no database has served is refused');
    if (claim.wish === 'gone') {
      // Its answer goes to nobody. The leases of a claim with a name are left by repeatable.ts.
      if (claim.name) this.#giveBack(claim.jobs);
      else promise(claim.jobs.length === 0, 'a hang-up is served nothing');
    } else for (const job of claim.jobs) this.#held.add(job);
  }

  #refuse(claim: Claim, error: unknown): void {
    this.#close(claim);
    const isOutage = error instanceof Refusal && error.code === 'unavailable';
    const isOut = (database: WorldDatabase) => database === this.#failing || database.isKnownAway;
    promise(
      !isOutage || !claim.seen || claim.queues.every((queue) => isOut(this.#databaseOf(queue))),
      'an outage refuses no claim that others can serve',
    );
    promise(claim.jobs.length === 0, 'no claim with jobs is refused');
    promise(!isGivenUp(claim), 'a claim that is given up is not refused');
  }

  #giveBack(jobs: LeasedJob[]): void {
    for (const job of jobs) {
      this.#held.delete(job);
      this.#queue(job.queue).jobs.push(job);
    }
    for (const queue of new Set(jobs.map(({ queue }) => queue))) this.#tell({ type: 'woken', queue });
  }

  /** Each job is ready, in a statement, with an open claim, or with a consumer; and in one of these places only. */
  #checkJobs(): void {
    const all = [
      ...[...this.#queues.values()].flatMap(({ jobs }) => jobs),
      ...this.#running.flatMap(({ leases }) => leases?.jobs.flat() ?? []),
      ...[...this.#open].flatMap(({ jobs }) => jobs),
      ...this.#held,
    ];
    promise(
      all.length === this.#jobs && new Set(all).size === all.length,
      'no job is lost, and none is given twice',
    );
  }

  #one<T>(of: Iterable<T>): T | undefined {
    const all = [...of];
    return all.length > 0 ? all[this.#choose(all.length)] : undefined;
  }

  #arrive(): void {
    const first = this.#choose(3);
    const queues = QUEUES.slice(first, first + 1 + this.#choose(3));
    if (this.#choose(3) === 0) queues.reverse();
    const wait_seconds = this.#choose(4) === 0 ? 0 : 1;
    const request: ClaimRequest = { queues, limit: 1 + this.#choose(3), wait_seconds };
    const name = this.#choose(3) === 0 ? { mark: `${this.#all.length}`, holder: '', askedIn: [] } : undefined;
    const claim = newClaim(request, name);
    this.#open.add(claim);
    this.#all.push(claim);
    this.#tell({ type: 'arrived', claim });
    const isAway = (queue: string) => this.#databaseOf(queue).isKnownAway;
    promise(
      queues.every(isAway) || claim.state === 'waiting' || !isAway(queues[claim.visit] as string),
      'no claim looks first where nobody answers',
    );
  }

  #hangUp(): void {
    // Some hang up late: they have their answer.
    const claim = this.#one(this.#choose(4) === 0 ? this.#all : this.#open);
    if (!claim || claim.wish === 'gone') return;
    const isLate = claim.state === 'answered';
    this.#tell({ type: 'hung up', claim });
    if (isLate && claim.name) this.#giveBack(claim.jobs);
    for (const job of claim.jobs) promise(!this.#held.has(job), 'what a late hang-up had goes back');
  }

  #waitOver(): void {
    const claim = this.#one(this.#open);
    if (claim) this.#tell({ type: 'wait over', claim });
  }

  #newJobs(name: string, count: number): void {
    const queue = this.#queue(name);
    queue.exists = true;
    for (let i = 0; i < count; i++) queue.jobs.push({ id: `${this.#jobs++}`, queue: name } as LeasedJob);
  }

  /** Jobs come: outside of any round trip, in one of theirs, or in one that waiting claims go along with. */
  #enqueue(): void {
    const name = QUEUES[this.#choose(3)] as string;
    const jobs = 1 + this.#choose(3);
    const way = this.#choose(3);
    const trip: Trip = { number: way === 0 ? undefined : ++this.#trip };
    const { number } = trip;
    const before = new Set(this.#running);
    if (way === 1) {
      this.#tell({ type: 'coming', queue: name });
      const part = this.#parts.find(({ line, stage }) => line.name === name && stage === 'joined');
      if (part) this.#beginPart(part, trip);
    }
    if (way === 2 && this.#queue(name).exists) this.#tell({ type: 'passing', queue: name, jobs }, trip);
    this.#newJobs(name, jobs);
    // Those that stayed in the round trip run behind the insert, and see the jobs.
    const along = this.#running.find((one) => !before.has(one) && trip.number !== undefined);
    if (along) this.#execute(along);
    if (way === 2 && along && along.statement.slots >= jobs) return;
    this.#tell({ type: 'woken', queue: name, trip: number });
  }

  #beginPart(part: Part, trip: Trip): void {
    part.stage = 'begun';
    this.#tell({ type: 'began', line: part.line, trip }, trip, part);
  }

  /** The database runs a statement. */
  #execute(running: Running): void {
    const { claims, line, slots } = running.statement;
    const queue = this.#queue(line.name);
    const jobs = claims.map(() => [] as LeasedJob[]);
    const repeated = this.#choose(8) === 0 ? claims.find(({ name }) => name) : undefined;
    if (repeated) wantOnly(repeated, 'taken');
    running.leases = { jobs, cut: repeated !== undefined, scarce: !repeated && this.#isMemoryShort };
    if (repeated) return;
    const room = this.#isMemoryShort ? 0 : this.#choose(6) === 0 ? 1 : slots;
    let left = Math.min(queue.allowance, room);
    for (const [i, claim] of claims.entries()) {
      const leased = queue.jobs.splice(0, Math.min(slotsOf(claim), left));
      left -= leased.length;
      queue.allowance -= leased.length;
      jobs[i]?.push(...leased);
      claim.owned?.add(DB);
    }
    running.leases.cut = room > 0 && room < slots && left === 0;
  }

  #isFull = ({ statement, leases }: Running): boolean => leases?.jobs.flat().length === statement.slots;

  /** A statement goes on: in the database, to what is known of it early, to its end. */
  #goOn(running: Running): void {
    const { statement, leases, part } = running;
    const { line } = statement;
    const { isAway } = this.#databaseOf(line.name);
    if (!leases && !isAway && this.#choose(10) !== 0) {
      this.#execute(running);
      return;
    }
    if (leases && !running.isTold && this.#isFull(running)) {
      running.isTold = true;
      this.#tell({ type: 'filled', statement });
      return;
    }
    this.#running = this.#running.filter((one) => one !== running);
    if (leases && !isAway && this.#choose(12) !== 0) this.#tell({ type: 'leased', statement, leases });
    else {
      for (const claim of statement.claims.filter(({ name }) => name))
        this.#unheard.set(claim, [...(this.#unheard.get(claim) ?? []), this.#databaseOf(line.name)]);
      const isOutage = isAway || this.#choose(2) === 0;
      this.#fail({ type: 'failed', line, statement, error: undefined }, line.name, isOutage);
      // Nobody knows what it leased: the duty of lost leases finds it.
      this.#giveBack(leases?.jobs.flat() ?? []);
    }
    this.#leave(part ?? { line, stage: 'begun', exists: true });
  }

  #leave(part: Part): void {
    this.#parts = this.#parts.filter((one) => one !== part);
    this.#tell({ type: 'left', line: part.line, hadBegun: part.stage === 'begun' });
  }

  #goOnPart(part: Part): void {
    const { line, stage, exists } = part;
    const { isAway } = this.#databaseOf(line.name);
    if (stage === 'begun') this.#leave(part);
    else if (isAway || this.#choose(15) === 0) {
      const isOutage = isAway || this.#choose(2) === 0;
      this.#fail({ type: 'failed', line, error: undefined }, line.name, isOutage);
      this.#leave(part);
    } else if (stage === 'asking') {
      if (!exists) part.stage = 'begun';
      this.#tell({ type: 'asked', line, exists }, undefined, part);
    } else this.#beginPart(part, { number: ++this.#trip });
  }

  /** The rows of claims are written, or cannot be, or another request has one. */
  #writeNames(statement: Statement): void {
    this.#naming = this.#naming.filter((one) => one !== statement);
    const { name } = statement.line;
    const { isAway } = this.#databaseOf(name);
    if (isAway || this.#choose(8) === 0) {
      this.#fail({ type: 'named', statement, error: undefined }, name, isAway || this.#choose(2) === 0);
      return;
    }
    for (const claim of statement.claims) {
      if (this.#choose(8) === 0) wantOnly(claim, 'taken');
      else claim.owned?.add(DB);
    }
    this.#tell({ type: 'named', statement });
  }

  /** A limit is reached, or allows more. */
  #limit(): void {
    const name = QUEUES[this.#choose(3)] as string;
    const queue = this.#queue(name);
    queue.allowance = this.#choose(2) === 0 ? this.#choose(3) : Number.POSITIVE_INFINITY;
    this.#tell({ type: 'woken', queue: name });
  }

  #poll(): void {
    const line = this.#one(this.#state.lines.all());
    if (line) this.#tell({ type: 'look due', line });
  }

  #memory(): void {
    this.#isMemoryShort = !this.#isMemoryShort;
    this.#mustLook = true;
  }

  /** A database goes away, or comes back. */
  #outage(): void {
    const database = this.#databases[this.#choose(this.#databases.length)] as WorldDatabase;
    database.isAway = !database.isAway;
    database.isKnownAway &&= database.isAway || this.#choose(2) === 0;
    this.#mustLook = true;
  }

  /** Something that is under way goes on. */
  #next(): boolean {
    const parts = this.#parts.filter((part) => !this.#running.some((running) => running.part === part));
    const all = [...this.#running, ...this.#naming, ...parts];
    const one = this.#one(all);
    if (!one) return false;
    if ('stage' in one) this.#goOnPart(one);
    else if ('statement' in one) this.#goOn(one);
    else this.#writeNames(one);
    return true;
  }

  /** Anything happens. */
  happen(): void {
    const event = this.#choose(48);
    if (event < 8) this.#arrive();
    else if (event < 16) this.#enqueue();
    else if (event < 18) this.#hangUp();
    else if (event < 20) this.#waitOver();
    else if (event === 20) this.#limit();
    else if (event === 21) this.#memory();
    else if (event === 22) this.#poll();
    else if (event === 23) this.#outage();
    else this.#next();
    if (event % 16 === 0) this.#checkJobs();
  }

  #settle(): void {
    for (let steps = 0; this.#next(); steps++) promise(steps < 2000, 'claims come to rest');
    this.#checkJobs();
  }

  #lookAgain(): void {
    if (!this.#mustLook) return;
    for (const line of this.#state.lines.all()) this.#tell({ type: 'look due', line });
    this.#settle();
  }

  #checkWaiting(): void {
    for (const { state, queues, wish } of this.#open) {
      promise(state === 'waiting' && wish === 'wait', 'who does not wait is answered');
      for (const name of queues) {
        const { jobs, allowance, database } = this.#queue(name);
        promise(
          jobs.length === 0 || allowance === 0 || database.isAway,
          'nobody waits for a job that is there',
        );
      }
    }
  }

  /** All that is under way ends well, and nobody looks by himself. Then nobody waits for a job that is there. */
  end(): void {
    this.#choose = (choices) => choices - 1;
    this.#isMemoryShort = false;
    this.#settle();
    this.#lookAgain();
    this.#checkWaiting();
    for (const database of this.#databases) database.isAway = false;
    this.#lookAgain();
    this.#checkWaiting();
    this.#tell({ type: 'closed' });
    promise(this.#open.size === 0, 'the end of a replica answers all claims');
    this.#settle();
    promise(this.#state.lines.all().length === 0, 'no line is left without claims');
  }
}
