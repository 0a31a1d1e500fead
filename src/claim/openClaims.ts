import { overloaded } from '../errors.ts';
import type { Ledger } from '../ledger.ts';
import { MOST_OF_ONE, WAITING_BYTES } from '../memory.ts';
import type { LeasedJob } from '../verbs/claims.ts';
import { type Claim, type ClaimName, type ClaimRequest, isGivenUp, isWaiting, newClaim } from './claim.ts';
import { join, type WaitLines } from './waitLine.ts';

/** A replica holds this number of claims at once, of about 10 kB each. It refuses more, so that memory does not grow. */
const MOST_CLAIMS = 20_000;

/** How many open claims each caller has. */
class ClaimsOfCallers {
  all = 0;
  readonly #own = new Map<string | undefined, number>();

  /** @throws Refusal `overloaded` when there are too many, or too many of this caller */
  take(by: string | undefined): void {
    if (this.all >= MOST_CLAIMS) throw overloaded();
    const own = this.#own.get(by) ?? 0;
    if (by !== undefined && own >= MOST_OF_ONE * (MOST_CLAIMS - this.all + own))
      throw overloaded('This caller has as many open claims as one caller may have at a replica.');
    this.all++;
    this.#own.set(by, own + 1);
  }

  giveBack(by: string | undefined): void {
    this.all--;
    const own = (this.#own.get(by) ?? 0) - 1;
    if (own > 0) this.#own.set(by, own);
    else this.#own.delete(by);
  }
}

/** What a claim takes in the wait line of each of its queues, if it is alone there. */
const LINE_BYTES = 4 * 1024;

/** A claim that a request has made. */
export interface OpenClaim {
  jobs: Promise<LeasedJob[]>;
  /** Its consumer is gone: it gets no more, and what it got goes back uncharged. */
  abandon(): void;
  /** It waits no longer, because it was repeated. It still looks at all of its queues once. */
  replace(): void;
  /** Whether it has looked at all of its queues. Then it waits. */
  hasLooked(): boolean;
  /** Whether another request with the same claim_id has leased, or may lease. */
  isTaken(): boolean;
  /** Whether it had its row at some time: a request that took it is newer. */
  hasOwned(): boolean;
}

/** The claims that are not answered yet: how they begin and how they end. */
export function createOpenClaims(context: {
  lines: WaitLines;
  giveBack(jobs: LeasedJob[]): void;
  ledger: Ledger;
}) {
  const { lines, giveBack, ledger } = context;
  let arrivals = 0;
  const open = new ClaimsOfCallers();
  let closed = false;
  ledger.count('claims', () => open.all);
  ledger.count('wait_line_places', () => lines.claims().length);

  function end(claim: Claim): void {
    open.giveBack(claim.by);
    claim.done = true;
    clearTimeout(claim.timer);
    lines.leaveAll(claim);
  }

  /** Answers a claim with what it has. */
  function finish(claim: Claim): void {
    end(claim);
    // What a claim with a name got is not given back here: a repeat may answer for it (repeatable.ts).
    if (claim.gone && !claim.name) giveBack(claim.jobs.splice(0));
    if (claim.starved && claim.jobs.length === 0 && !isGivenUp(claim)) claim.refuse(overloaded());
    else claim.answer(claim.jobs);
  }

  /** Refuses a claim, unless it has jobs already. */
  function fail(claim: Claim, error: unknown): void {
    if (claim.jobs.length > 0 || isGivenUp(claim)) {
      finish(claim);
    } else {
      end(claim);
      claim.refuse(error);
    }
  }

  function expire(claim: Claim): void {
    claim.expired = true;
    // A claim that has not looked everywhere yet still does.
    if (!claim.busy && isWaiting(claim)) finish(claim);
  }

  return {
    finish,
    fail,

    /** How many claims are not answered yet. */
    open: (): number => open.all,

    /** Puts a claim into the wait lines of its queues. @throws Refusal `overloaded` when there are too many open claims */
    begin(request: ClaimRequest, name: ClaimName | undefined): Claim {
      const claim = newClaim(request, name, arrivals++);
      if (!claim.expired) claim.hold?.().take(WAITING_BYTES + claim.queues.length * LINE_BYTES, 'waiting');
      open.take(claim.by);
      if (closed) claim.expired = true;
      if (!claim.expired)
        claim.timer = setTimeout(() => expire(claim), (request.wait_seconds as number) * 1000);
      for (const queue of claim.queues) join(lines.of(queue), claim);
      return claim;
    },

    handleOf: (claim: Claim): OpenClaim => ({
      jobs: claim.answered,
      abandon() {
        claim.gone = true;
        // A claim in its statement is answered after it.
        if (!claim.done && !claim.busy) finish(claim);
        else if (claim.done && !claim.name) giveBack(claim.jobs);
      },
      replace() {
        if (!claim.done) expire(claim);
      },
      hasLooked: () => isWaiting(claim),
      isTaken: () => claim.taken,
      hasOwned: () => claim.owned,
    }),

    /** Answers all waiting claims with what they have. Later claims do not wait. */
    close(): void {
      closed = true;
      for (const claim of lines.claims()) expire(claim);
    },
  };
}
