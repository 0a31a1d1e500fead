import type { JoinRoundTrip, RoundTrip } from '../batching/roundTrips.ts';
import { overloaded } from '../errors.ts';
import type { Queue, Queues } from '../queues/cache.ts';
import type { Notifier } from '../replicas/notifier.ts';
import { type Claim, type ClaimRequest, newClaim } from './claim.ts';
import type { ClaimName, Consumer, Shares } from './lease.ts';
import type { LeasedJob } from './leasedJob.ts';
import {
  hasReason,
  isWaiting,
  join,
  type Line,
  leave,
  mayHoldMore,
  nextBatch,
  openLine,
} from './waitLine.ts';

/** Waiting claims look by themselves this often, in case a wake-up was lost; an outage shows as soon. */
const POLL_MS = 1000;
/** A replica holds so many claims at once, of about 10 kB each; more are refused, instead of growing memory. */
const MOST_CLAIMS = 20_000;

/**
 * Serves claims in the order in which they came, one statement at a time for each queue: a claim first visits its
 * queues by turns, and takes all it can get; one that found nothing waits in the lines of all of them until it is woken.
 */
export function dispatcher(options: {
  claimFor(queue: Queue, consumers: Consumer[], trip: RoundTrip): Promise<Shares>;
  queues: Queues;
  joinRoundTrip: JoinRoundTrip;
  giveBack(jobs: LeasedJob[], name: ClaimName | undefined): void;
  notifier: Notifier;
}) {
  const { claimFor, queues, joinRoundTrip, giveBack, notifier } = options;
  const lines = new Map<string, Line>();
  const running = new Set<Promise<void>>();
  let turns = 0;
  let open = 0;
  let closed = false;

  function lineOf(name: string): Line {
    let line = lines.get(name);
    if (!line) {
      line = openLine(name);
      lines.set(name, line);
    }
    return line;
  }

  function leaveLines(claim: Claim): void {
    open--;
    claim.done = true;
    clearTimeout(claim.timer);
    for (const name of claim.queues) {
      const line = lines.get(name);
      if (!line) continue;
      leave(line, claim);
      if (line.claimants.length === 0 && !line.joining) lines.delete(name);
    }
  }

  function finish(claim: Claim): void {
    leaveLines(claim);
    if (claim.gone && !claim.replaced) giveBack(claim.jobs, claim.name);
    claim.answer(claim.gone || claim.replaced ? [] : claim.jobs);
  }

  function fail(claim: Claim, error: unknown): void {
    if (claim.jobs.length > 0 || claim.gone || claim.replaced) {
      finish(claim);
    } else {
      leaveLines(claim);
      claim.refuse(error);
    }
  }

  /** Decides what a claim does after a statement in which it took part, or that showed its queue to be empty. */
  function proceed(claim: Claim, line: Line): void {
    if (claim.gone || claim.replaced || claim.jobs.length === claim.limit) {
      finish(claim);
      return;
    }
    const visiting = claim.visit < claim.queues.length;
    if (visiting) claim.visit++;
    if (claim.visit < claim.queues.length) {
      pump(lineOf(claim.queues[claim.visit] as string));
      return;
    }
    if (claim.jobs.length > 0 || claim.expired) {
      finish(claim);
      return;
    }
    for (const [i, name] of claim.queues.entries()) {
      const other = lineOf(name);
      if (visiting) notifier.waiting(name);
      if (visiting && other.wakes !== claim.seen[i]) other.woken = true;
      if (other !== line && other.woken) pump(other);
    }
  }

  function look(line: Line, claims: Claim[]): void {
    for (const claim of claims) claim.seen[claim.queues.indexOf(line.name)] = line.wakes;
  }

  async function serve(line: Line, queue: Queue | undefined, trip: RoundTrip | undefined): Promise<void> {
    const { served, visitors } = nextBatch(line) as { served: Claim[]; visitors: Claim[] };
    if (served.length === 0) return;
    const consumers = served.map((c) => ({
      limit: c.limit - c.jobs.length,
      lease_seconds: c.lease_seconds,
      worker: c.worker,
      name: c.name,
    }));
    const asked = consumers.reduce((slots, c) => slots + c.limit, 0);
    line.woken = false;
    line.trip = trip;
    look(line, visitors);
    for (const claim of served) claim.busy = true;
    // An unknown queue has nothing.
    const nothing = { jobs: consumers.map(() => []), cut: false };
    const leased = queue && trip ? claimFor(queue, consumers, trip) : nothing;
    const aside = trip?.number === undefined;
    if (aside) line.held = true;
    let shares: Shares;
    try {
      shares = await leased;
    } catch (error) {
      for (const claim of served) claim.busy = false;
      throw error;
    } finally {
      if (aside) line.held = false;
    }
    const more = mayHoldMore(line, asked, shares);
    if (more) line.woken = true;
    for (const [i, claim] of served.entries()) claim.jobs.push(...(shares.jobs[i] as LeasedJob[]));
    // Each stays busy until its own turn: the ones before it set other lines going, which must not take it along.
    for (const [i, claim] of served.entries()) {
      claim.busy = false;
      // One that got nothing although there is more is among the first of the next statement.
      const left = more && shares.jobs[i]?.length === 0 && !claim.gone && !claim.replaced;
      if (!left) proceed(claim, line);
    }
    if (more) return;
    // The queue is empty: those visitors who came later in line, or were too many for one statement, know it too.
    const rest = new Set(visitors);
    for (const claim of served) rest.delete(claim);
    for (const claim of rest) if (!claim.done && !claim.busy) proceed(claim, line);
  }

  /** Has a line take part in the next round of its queue, if there is a reason to. */
  function pump(line: Line): void {
    if (line.joining || line.held || !hasReason(line)) return;
    line.joining = true;
    const run = serveNext(line)
      .catch((error) => {
        for (const claim of [...line.claimants] as Claim[]) if (!claim.busy) fail(claim, error);
      })
      .finally(() => {
        running.delete(run);
        pump(line);
        if (line.claimants.length === 0 && !line.joining) lines.delete(line.name);
      });
    running.add(run);
  }

  async function serveNext(line: Line): Promise<void> {
    let begun = false;
    const begin = () => {
      if (!begun) line.joining = false;
      begun = true;
    };
    try {
      const queue = await queues.byName(line.name);
      if (!queue) {
        begin();
        return await serve(line, undefined, undefined);
      }
      await joinRoundTrip(queue.id, (trip) => {
        begin();
        return serve(line, queue, trip);
      });
    } finally {
      begin();
    }
  }

  /** Something is ready, in this or no round; the line's claim of that round came behind, and has seen it. */
  function wake(name: string, round?: number): void {
    const line = lines.get(name);
    if (!line) return;
    if (round !== undefined && (line.trip?.number ?? 0) >= round) return;
    line.wakes++;
    line.woken = true;
    pump(line);
  }

  /** Something becomes ready in the queue's next round, in which its line then takes part. */
  function expect(name: string): void {
    const line = lines.get(name);
    if (!line) return;
    line.woken = true;
    pump(line);
  }

  function wakeAll(): void {
    for (const name of [...lines.keys()]) wake(name);
  }

  function expire(claim: Claim): void {
    claim.expired = true;
    // One that has not looked everywhere yet still does.
    if (!claim.busy && isWaiting(claim)) finish(claim);
  }

  const poll = setInterval(() => {
    for (const name of lines.keys()) notifier.waiting(name);
    wakeAll();
  }, POLL_MS);
  poll.unref();

  return {
    wake,
    expect,
    wakeAll,

    /**
     * Leases up to `limit` jobs, waiting up to `wait_seconds` for the first. Once its consumer is found to be gone,
     * `abandon` it: it gets no more, and what it got goes back uncharged. Once it is repeated, `supersede` it: it
     * gets no more either, but what it got stays leased, and it is answered with nothing.
     */
    claim(
      request: ClaimRequest,
      name?: ClaimName,
    ): { jobs: Promise<LeasedJob[]>; abandon(): void; replace(): void } {
      if (open >= MOST_CLAIMS) throw overloaded();
      open++;
      const claim = newClaim(request, name, turns++);
      if (closed) claim.expired = true;
      if (!claim.expired)
        claim.timer = setTimeout(() => expire(claim), (request.wait_seconds as number) * 1000);
      for (const name of claim.queues) join(lineOf(name), claim);
      pump(lineOf(claim.queues[0] as string));
      const endUnlessBusy = () => {
        if (!claim.busy) finish(claim);
      };

      return {
        jobs: claim.answered,
        abandon() {
          claim.gone = true;
          if (!claim.done) endUnlessBusy();
          else if (!claim.replaced) giveBack(claim.jobs, claim.name);
        },
        replace() {
          claim.replaced = true;
          if (!claim.done) endUnlessBusy();
        },
      };
    },

    /** Answers all waiting claims with what they have; later ones don't wait. */
    close(): void {
      closed = true;
      clearInterval(poll);
      for (const line of [...lines.values()]) for (const claim of [...line.claimants]) expire(claim as Claim);
    },

    /** Settles when no statement is under way any more, and so all that one gives to the hung up is being given back. */
    async idle(): Promise<void> {
      while (running.size > 0) await Promise.all(running);
    },
  };
}
