import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { sizeOf } from '../job.ts';
import { COPIES } from '../memory.ts';
import type { LeasedJob } from '../verbs/claims.ts';
import { askEverywhere, databasesOf, type FoundEverywhere } from './askEverywhere.ts';
import { type ClaimName, type ClaimRequest, queuesOf } from './claim.ts';
import type { ClaimPlaces } from './claimPlaces.ts';
import { endLook, findLeases, markOf } from './claimRows.ts';
import type { DatabaseClaims } from './databaseClaims.ts';
import type { OpenClaim } from './dispatcher.ts';
import { toLeases } from './leasedJob.ts';

/** While another request of the claim looks at its queues, this one asks again and again, with this pause. */
const ASK_AGAIN_MS = 20;

export interface RepeatableOptions {
  places: ClaimPlaces<DatabaseClaims>;
  claim(request: ClaimRequest, name?: ClaimName): OpenClaim;
}

/**
 * The marks of claims that this replica has seen. A request with such a mark is a repeat, and asks for leases first.
 */
export interface KnownMarks {
  has(mark: string): boolean;
  add(mark: string): void;
}

/**
 * One request with a `claim_id`. It leases as other claims do. But its transaction fails if another request of the same
 * claim was first (sql/claim/own.sql). Then it asks for the leases of that request (sql/claim/repeat.sql). If this
 * replica has seen the claim before, it asks for leases first, and leases only if there are none.
 */
export class RepeatableClaim {
  readonly name: ClaimName;
  readonly #options: RepeatableOptions;
  readonly #known: KnownMarks;
  readonly #request: ClaimRequest;
  readonly #queues: string[];
  readonly #waitsUntil: number;
  /** replaced: a newer request takes its place, so it waits no longer. gone: its consumer hung up. */
  #state: 'open' | 'replaced' | 'gone' = 'open';
  /** Where its queues are, in the order of `databasesOf`. */
  #databases: DatabaseClaims[];
  /** Its claim in the wait lines. Undefined while it only asks for leases. */
  #made: OpenClaim | undefined;
  /** It became the holder in the row (`takes`). Requests at other replicas wait until it has looked at its queues. */
  #othersWait = false;

  constructor(request: ClaimRequest, id: string, options: RepeatableOptions, known: KnownMarks) {
    this.#options = options;
    this.#known = known;
    this.#request = request;
    this.#queues = queuesOf(request);
    const { all } = options.places;
    // With several databases, `lease` finds out which of them.
    this.#databases = all().slice(0, 1);
    const askedIn = this.#databases.map(({ db }) => db);
    this.name = { mark: markOf(id, this.#queues, request.session), holder: randomUUID(), askedIn };
    this.#waitsUntil = performance.now() + (request.wait_seconds ?? 0) * 1000;
  }

  isGone = (): boolean => this.#state === 'gone';

  /** Its consumer is gone. */
  abandon(): void {
    this.#state = 'gone';
    this.#made?.abandon();
  }

  /** It stops answering for its claim. If no other request answers, the leases go back. */
  leave(): void {
    for (const { leave } of this.databases()) leave(this.name);
  }

  /** Where it may have rows. */
  databases(): DatabaseClaims[] {
    return this.#options.places
      .all()
      .filter((one) => this.#databases.includes(one) || this.name.askedIn.includes(one.db));
  }

  /** It waits no longer. It still looks at all of its queues once. */
  replace(): void {
    if (this.#state === 'open') this.#state = 'replaced';
    this.#made?.replace();
  }

  /** Takes memory for jobs that another request has leased. @throws Refusal `overloaded` */
  takeMemory(jobs: LeasedJob[]): void {
    this.#request.hold?.().take(jobs.reduce((sum, job) => sum + sizeOf(job), 0) * (COPIES - 1));
  }

  /** Returns the jobs that another request of the claim has leased. If there are none, leases jobs. */
  async lease(): Promise<LeasedJob[]> {
    if (this.#options.places.find) {
      await this.#findDatabases();
      this.name.askedIn = this.#databases.map(({ db }) => db);
    }
    try {
      const asksFirst = this.#databases.length > 1 || this.#known.has(this.name.mark);
      let jobs = asksFirst ? await this.#find({ takes: true }) : undefined;
      while (!jobs && !this.isGone()) jobs = (await this.#claimOnce()) ?? (await this.#find({ takes: true }));
      return jobs ?? [];
    } finally {
      if (this.#othersWait && !this.#made?.hasOwned()) this.leave();
      else if (this.#othersWait) this.#endLook();
    }
  }

  /** It got its jobs before it looked in the database that decides. There, others would wait for it. */
  #endLook(): void {
    const [decides] = this.name.askedIn;
    if (decides && !this.#made?.hasOwned(decides)) endLook(decides, this.name).catch(() => undefined);
  }

  #waitSeconds(): number {
    if (this.#state === 'replaced') return 0;
    return Math.max(0, (this.#waitsUntil - performance.now()) / 1000);
  }

  /** Leases jobs. Undefined if another request was first: then that one has leases to ask for. */
  async #claimOnce(): Promise<LeasedJob[] | undefined> {
    const made = this.#options.claim({ ...this.#request, wait_seconds: this.#waitSeconds() }, this.name);
    this.#made = made;
    if (this.isGone()) made.abandon();
    const jobs = await made.jobs;
    if (made.hasOwned()) this.#known.add(this.name.mark);
    if (jobs.length > 0 || this.isGone() || !made.isTaken()) return jobs;
    if (!made.hasOwned() && this.#state === 'open') return undefined;
    // The request that has the claim now came later. If this one has looked at all of its queues, it is answered empty.
    // If not, it is answered with the leases of that one.
    return made.hasLooked() ? [] : ((await this.#find({ takes: false })) ?? []);
  }

  /**
   * Asks for the leases of the claim, until no other request looks at its queues any more. Undefined if there are none.
   * With `takes`, it is the holder then.
   */
  async #find({ takes }: { takes: boolean }): Promise<LeasedJob[] | undefined> {
    const { name } = this;
    this.#known.add(name.mark);
    // The settlement of the same request may end leases of the claim.
    await this.#request.settling;
    try {
      while (!this.isGone()) {
        const { found, looks } = await this.#ask(takes);
        const jobs = await this.#jobsOf(found);
        if (jobs.length > 0) {
          this.takeMemory(jobs);
          return jobs;
        }
        if (!looks && takes && this.#options.places.find && (await this.#findDatabases())) continue;
        if (!looks) {
          this.#othersWait = takes;
          if (takes)
            for (const { waiter, database } of found)
              if (waiter) database.notifier.replaced(name.mark, waiter);
          return undefined;
        }
        await sleep(ASK_AGAIN_MS);
      }
      return undefined;
    } catch (error) {
      // The failed statement may have noted it as one that answers for the leases.
      this.leave();
      throw error;
    }
  }

  /** Finds out where its queues are now. Returns whether one of them is where it was not known to be. */
  async #findDatabases(): Promise<boolean> {
    const before = this.#databases;
    this.#databases = await databasesOf(this.#options.places, this.#queues);
    return this.#databases.some((database) => !before.includes(database));
  }

  async #ask(takes: boolean): Promise<FoundEverywhere> {
    const how = { takes, waits: this.#waitSeconds() > 0 };
    const [database, ...others] = this.#databases as [DatabaseClaims];
    if (others.length > 0) {
      const everywhere = await askEverywhere(this.#databases, this.name, how);
      this.name.askedIn = everywhere.found.map((here) => here.database.db);
      return everywhere;
    }
    this.name.askedIn = [database.db];
    const found = await findLeases(database.db, this.name, how);
    return { found: [{ ...found, database }], looks: found.looks };
  }

  /** The jobs of the leases, in the order of the queues that the request names. */
  async #jobsOf(found: FoundEverywhere['found']): Promise<LeasedJob[]> {
    const queues = this.#queues;
    const leased = await Promise.all(
      found.map(({ rows, database }) => toLeases(rows, queues, database.queues)),
    );
    const jobs = leased.flat();
    if (found.length > 1) jobs.sort((a, b) => queues.indexOf(a.queue) - queues.indexOf(b.queue));
    return jobs;
  }
}
