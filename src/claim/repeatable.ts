import { setImmediate as nextLoop } from 'node:timers/promises';
import type { Ledger } from '../ledger.ts';
import type { LeasedJob } from '../verbs/claims.ts';
import type { ClaimName, ClaimRequest } from './claim.ts';
import { takenOf } from './claimRows.ts';
import type { OpenClaim } from './dispatcher.ts';
import { type KnownMarks, RepeatableClaim, type RepeatableOptions } from './repeatableClaim.ts';

/** The marks that a replica remembers. */
const MOST_KNOWN = 10_000;

/** What the requests of a process are answered together. `name` answers for the leases until all of them have hung up. */
interface Answer {
  name: ClaimName;
  jobs: LeasedJob[];
  /** The requests that it was given to, and that have not hung up. */
  requests: number;
}

/** The one request of a claim that claims jobs in this process. The others wait for it. */
interface Leader {
  holder: string;
  /** Lets it wait no longer. Settles when it is answered. */
  replace(): Promise<Answer>;
}

/** The last marks that were added. */
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
 * The claims with a `claim_id` of this process. Of several requests with the same one, the newest waits until the one before
 * it has looked at its queues. It takes the place of that one if that found nothing, and shares its answer otherwise. Between
 * replicas, the row of the claim decides (repeatableClaim.ts). Why not here: docs/decisions/0069-leaders-stay.md.
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
      if (found.name !== claim.name) claim.takeMemory(found.jobs);
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

  /** Another replica took this claim from a request that waits, maybe here. */
  replaced(mark: string, holder: string): void {
    const leader = this.#leaders.get(mark);
    if (leader?.holder === holder) void leader.replace();
  }

  /** Looks whether other replicas have taken claims: notifications may have been lost. */
  check(): void {
    const names = [...this.#leaders].map(([mark, { holder }]) => ({ mark, holder }));
    if (names.length === 0) return;
    takenOf(this.#options.db, names).then(
      (taken) => {
        for (const mark of taken) void this.#leaders.get(mark)?.replace();
      },
      (error) => this.#log(error, 'claims that wait were not checked'),
    );
  }

  /** Settles when no claim is under way. */
  async idle(): Promise<void> {
    while (this.#running.size > 0) await Promise.allSettled(this.#running);
  }

  /** The answer of the request before it, or its own if that found nothing. Undefined when a newer one is there by then. */
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
    const none = { name, jobs: [], requests: 0 };
    const leading = claim
      .lease()
      .finally(() => this.#leaders.delete(name.mark))
      .then((jobs) => ({ ...none, jobs }));
    const replace = () => {
      claim.replace();
      // Its refusal is its own. The next request tries by itself.
      return leading.catch(() => none);
    };
    this.#leaders.set(name.mark, { holder: name.holder, replace });
    leading.then(
      (answer) => this.#leaveIfUnused(answer),
      () => undefined,
    );
    return leading;
  }

  /** Once all who wait for an answer have it, nobody may be left to take it. */
  #leaveIfUnused(answer: Answer): void {
    if (answer.jobs.length === 0) return;
    const left = nextLoop()
      .then(() => {
        if (answer.requests === 0) this.#options.leave(answer.name);
      })
      .finally(() => this.#running.delete(left));
    this.#running.add(left);
  }
}
