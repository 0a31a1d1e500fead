import { setImmediate as nextLoop } from 'node:timers/promises';
import type { Ledger } from '../ledger.ts';
import type { LeasedJob } from '../verbs/claims.ts';
import type { ClaimRequest } from './claim.ts';
import { takenOf } from './claimRows.ts';
import type { OpenClaim } from './dispatcher.ts';
import { type KnownMarks, RepeatableClaim, type RepeatableOptions } from './repeatableClaim.ts';

/** How many marks a replica remembers. */
const MOST_KNOWN = 10_000;

/**
 * One answer for several requests of this process. `claim` answers for the leases until all of these requests have hung
 * up.
 */
interface Answer {
  claim: RepeatableClaim;
  jobs: LeasedJob[];
  /** How many requests have this answer, and have not hung up. */
  requests: number;
}

/** Of the requests of a claim in this process, the one that leases. The others wait for it. */
interface Leader {
  claim: RepeatableClaim;
  /** Tells it to wait no longer. Settles with its answer. */
  replace(): Promise<Answer>;
}

/** Remembers the marks that were added last. */
function knownMarks(): KnownMarks {
  const marks = new Set<string>();
  return {
    has: (mark) => marks.has(mark),
    add(mark) {
      marks.delete(mark);
      marks.add(mark);
      if (marks.size <= MOST_KNOWN) return;
      const [oldest] = marks;
      marks.delete(oldest as string);
    },
  };
}

/**
 * The claims with a `claim_id` in this process. When a second request comes with the same one, it waits until the first
 * has looked at its queues. If the first got jobs, both are answered with them. If not, the second takes its place.
 * Between replicas, the row of the claim decides (repeatableClaim.ts). Why the row does not decide here, too:
 * docs/decisions/0069-leaders-stay.md.
 */
export class RepeatableClaims {
  readonly #options: RepeatableOptions;
  readonly #log: (error: unknown, message: string) => void;
  readonly #leaders = new Map<string, Leader>();
  readonly #newest = new Map<string, RepeatableClaim>();
  readonly #running = new Set<Promise<unknown>>();
  readonly #known = knownMarks();

  constructor({
    ledger,
    log,
    ...options
  }: RepeatableOptions & { ledger: Ledger; log: (error: unknown, message: string) => void }) {
    this.#options = options;
    this.#log = log;
    ledger.count('claim_ids', () => this.#leaders.size + this.#newest.size + this.#running.size);
  }

  /** Makes a claim with this `claim_id`. */
  claim(request: ClaimRequest, id: string): Pick<OpenClaim, 'jobs' | 'abandon'> {
    const claim = new RepeatableClaim(request, id, this.#options, this.#known);
    const { mark } = claim.name;
    let answer: Answer | undefined;
    const take = async (): Promise<LeasedJob[]> => {
      const found = await this.#answerFor(claim);
      if (!found || claim.isGone()) return [];
      if (found.claim !== claim) claim.takeMemory(found.jobs);
      answer = found;
      answer.requests++;
      return answer.jobs;
    };
    const jobs = take().finally(() => {
      this.#running.delete(jobs);
      if (this.#newest.get(mark) === claim) this.#newest.delete(mark);
    });
    this.#running.add(jobs);
    return {
      jobs,
      abandon: () => {
        if (claim.isGone()) return;
        claim.abandon();
        if (!answer) return;
        answer.requests--;
        this.#leaveIfUnused(answer);
      },
    };
  }

  /** Another replica tells that a request there took this claim. `holder`, which had it before, may wait here. */
  replaced(mark: string, holder: string): void {
    const leader = this.#leaders.get(mark);
    if (leader?.claim.name.holder === holder) void leader.replace();
  }

  /** Asks the databases which claims other replicas have taken: notifications may have been lost. */
  check(): void {
    const claims = [...this.#leaders.values()].map(({ claim }) => claim);
    for (const database of new Set(claims.flatMap((claim) => claim.databases()))) {
      const own = claims.filter((claim) => claim.databases().includes(database));
      const names = own.map(({ name }) => name);
      takenOf(database.db, names).then(
        (taken) => {
          for (const mark of taken) void this.#leaders.get(mark)?.replace();
        },
        (error) => this.#log(error, 'claims that wait were not checked'),
      );
    }
  }

  /** Settles when no claim is under way. */
  async idle(): Promise<void> {
    while (this.#running.size > 0) await Promise.allSettled(this.#running);
  }

  /**
   * The answer of the request before it. If that got no jobs, its own answer. Undefined if an even newer request came.
   */
  async #answerFor(claim: RepeatableClaim): Promise<Answer | undefined> {
    const { mark } = claim.name;
    this.#newest.set(mark, claim);
    for (let leader = this.#leaders.get(mark); leader; leader = this.#leaders.get(mark)) {
      const shared = await leader.replace();
      if (shared.jobs.length > 0) return shared;
      if (claim.isGone() || this.#newest.get(mark) !== claim) return undefined;
    }
    return this.#lead(claim);
  }

  /** Makes it the leader of its claim in this process. */
  #lead(claim: RepeatableClaim): Promise<Answer> {
    const { name } = claim;
    const none = { claim, jobs: [], requests: 0 };
    const leading = claim
      .lease()
      .finally(() => this.#leaders.delete(name.mark))
      .then((jobs) => ({ ...none, jobs }));
    const replace = () => {
      claim.replace();
      // If the leader is refused, the next request tries itself.
      return leading.catch(() => none);
    };
    this.#leaders.set(name.mark, { claim, replace });
    leading.then(
      (answer) => this.#leaveIfUnused(answer),
      () => undefined,
    );
    return leading;
  }

  /**
   * Gives the leases of an answer back if no request has it. First, the requests that wait for it get the time to take
   * it.
   */
  #leaveIfUnused(answer: Answer): void {
    if (answer.jobs.length === 0) return;
    const left = nextLoop()
      .then(() => {
        if (answer.requests === 0) answer.claim.leave();
      })
      .finally(() => this.#running.delete(left));
    this.#running.add(left);
  }
}
