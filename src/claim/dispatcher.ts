import { runForAll } from '../askers.ts';
import { type JoinRoundTrip, ORDER_IN_TRIP, type RoundTrip } from '../batching/roundTrips.ts';
import type { Ledger } from '../ledger.ts';
import { SHORT_LOCK_WAIT_MS } from '../postgres/lockWait.ts';
import { createSemaphore, type Semaphore } from '../postgres/semaphore.ts';
import type { Queue, Queues } from '../queues/cache.ts';
import type { Notifier } from '../replicas/notifier.ts';
import type { LeasedJob } from '../verbs/claims.ts';
import { type Claim, type ClaimName, type ClaimRequest, isGivenUp, isWaiting, slotsOf } from './claim.ts';
import { CLAIM_BYTES, type Leases } from './lease.ts';
import { alarms } from './limits.ts';
import { AT_ONCE, createLooks } from './looks.ts';
import { createOpenClaims, type OpenClaim } from './openClaims.ts';
import {
  createWaitLines,
  hasReason,
  MOMENTS,
  mayHoldMore,
  nextBatch,
  type WaitLine,
  waitersFor,
} from './waitLine.ts';

/** Waiting claims look this often without being woken, in case a notification was lost. An outage shows as soon. */
const POLL_MS = 1000;

const never = () => false;

/** After a lock has held up claims in a round trip of others, none go along for so long. */
const AWAY_MS = 10_000;

/** The first looks of claims take at most this share of the connections, besides round trips that are under way anyway. */
const FIRST_LOOKS = 0.6;

/**
 * Serves claims in the order in which they came, one statement at a time for each queue. A claim first looks at its queues
 * one after the other, and takes all that it can get. If it found nothing, it waits in the wait lines of all of them
 * until it is woken.
 */
export function createDispatcher(options: {
  leaseJobs(queue: Queue, claims: Claim[], trip: RoundTrip, filled: () => void): Promise<Leases>;
  /** Notes which claims with a name may not lease, of those that look at an empty queue. */
  ownWithoutLeasing(claims: Claim[]): Promise<void>;
  queues: Queues;
  joinRoundTrip: JoinRoundTrip;
  /** How many connections to the database there are. */
  connections: number;
  giveBack(jobs: LeasedJob[]): void;
  notifier: Notifier;
  ledger: Ledger;
}) {
  const { leaseJobs, ownWithoutLeasing, queues, joinRoundTrip, giveBack, notifier, ledger } = options;
  const lines = createWaitLines();
  const { begin, finish, fail, open, handleOf, close } = createOpenClaims({ lines, giveBack, ledger });
  const running = new Set<Promise<void>>();
  /** Claims that go on to their next queue. 300 claims of 16 queues each would otherwise look at 300 of them at once. */
  const visits = createSemaphore(AT_ONCE);
  /** Claims that look at their first queue. Thousands that come at once leave connections to other verbs. */
  const firstLooks = createSemaphore(Math.ceil(options.connections * FIRST_LOOKS));
  ledger.count('claim_places', () => visits.held() + firstLooks.held());
  const wakeAfter = alarms((queue) => wake(queue));
  /** When claims may go along in round trips of others again. */
  let alongFrom = Number.NEGATIVE_INFINITY;

  /** Decides what a claim does after a statement that served it, or that showed its queue to be empty. */
  function proceed(claim: Claim, line: WaitLine): void {
    if (isGivenUp(claim) || slotsOf(claim) === 0 || claim.bytes >= CLAIM_BYTES) {
      finish(claim);
      return;
    }
    const visiting = !isWaiting(claim);
    if (visiting) claim.visit++;
    if (!isWaiting(claim)) {
      pump(lines.of(claim.queues[claim.visit] as string), visits);
      return;
    }
    if (claim.jobs.length > 0 || claim.expired) {
      finish(claim);
      return;
    }
    for (const [i, name] of claim.queues.entries()) {
      const other = lines.of(name);
      if (visiting && !other.missing) notifier.waiting(name);
      if (visiting && other.wakes !== claim.seen[i]) other.woken = true;
      if (other !== line && other.woken) pump(other);
    }
  }

  /** Deals out what a statement leased to the claims that it served. */
  function dealOut(line: WaitLine, served: Claim[], leases: Leases, more: boolean): void {
    for (const [i, claim] of served.entries()) {
      claim.jobs.push(...(leases.jobs[i] as LeasedJob[]));
      claim.starved = leases.scarce ?? false;
    }
    // Each claim stays busy until it proceeds: the ones before it pump other lines, which must not take it along.
    for (const [i, claim] of served.entries()) {
      claim.busy = false;
      // A claim that got nothing although there is more is among the first of the next statement.
      const again = more && leases.jobs[i]?.length === 0 && !isGivenUp(claim);
      if (!again) proceed(claim, line);
    }
  }

  /** For a queue that does not exist. */
  function leaseNothing(claims: Claim[]): Leases | Promise<Leases> {
    const nothing = { jobs: claims.map(() => []), cut: false };
    const named = claims.filter((claim) => claim.name && !isWaiting(claim));
    return named.length > 0 ? ownWithoutLeasing(named).then(() => nothing) : nothing;
  }

  async function lease(
    line: WaitLine,
    queue: Queue | undefined,
    claims: Claim[],
    trip: RoundTrip | undefined,
    filled: () => void,
  ): Promise<Leases> {
    const leasing: Leases | Promise<Leases> =
      queue && trip ? runForAll(claims, () => leaseJobs(queue, claims, trip, filled)) : leaseNothing(claims);
    line.held = trip?.number === undefined;
    line.leaves = line.held;
    try {
      const leases = await leasing;
      if (leases.opensInMs !== undefined) wakeAfter(line.name, leases.opensInMs);
      return leases;
    } finally {
      line.held = false;
    }
  }

  /** Runs one statement for the first claims in line. A queue that does not exist has no jobs. */
  async function serve(line: WaitLine, queue: Queue | undefined, trip: RoundTrip | undefined): Promise<void> {
    const batch = nextBatch(line);
    if (batch.served.length === 0) return;
    line.woken = false;
    line.trip = trip;
    await serveBatch(line, queue, trip, batch);
  }

  /** `visitors` look at the queue for the first time. They are served, or learn from this statement that the queue is empty. */
  async function serveBatch(
    line: WaitLine,
    queue: Queue | undefined,
    trip: RoundTrip | undefined,
    { served, visitors }: ReturnType<typeof nextBatch>,
  ): Promise<void> {
    const slots = served.reduce((sum, claim) => sum + slotsOf(claim), 0);
    for (const claim of visitors) claim.seen[claim.queues.indexOf(line.name)] = line.wakes;
    for (const claim of served) {
      claim.busy = true;
      line.uncertain.add(claim);
    }
    const decided = () => {
      for (const claim of served) line.uncertain.delete(claim);
      line.behind = false;
    };
    let leases: Leases;
    try {
      leases = await lease(line, queue, served, trip, decided);
    } catch (error) {
      for (const claim of served) claim.busy = false;
      throw error;
    } finally {
      decided();
    }
    const more = mayHoldMore(line, slots, leases);
    if (more) line.woken = true;
    dealOut(line, served, leases, more);
    if (more) return;
    // The queue is empty. The visitors that this statement did not serve know it now, too.
    const rest = new Set(visitors);
    for (const claim of served) rest.delete(claim);
    const named = [...rest].filter((claim) => claim.name && !claim.done && !claim.busy);
    for (const claim of named) claim.busy = true;
    for (const claim of rest) if (!claim.done && !claim.busy) proceed(claim, line);
    if (named.length > 0) proceedNamed(named, line);
  }

  /** Claims with a name write their rows first, though the queue is empty: repeats must find them. */
  function proceedNamed(claims: Claim[], line: WaitLine): void {
    const run = ownWithoutLeasing(claims)
      .then(
        () => (claim: Claim) => proceed(claim, line),
        (error) => (claim: Claim) => fail(claim, error),
      )
      .then((next) => {
        running.delete(run);
        for (const claim of claims) {
          claim.busy = false;
          next(claim);
        }
      });
    running.add(run);
  }

  /** The queue of a line. The line tells other replicas that it waits as soon as it has one. */
  async function find(line: WaitLine): Promise<Queue | undefined> {
    let queue: Queue | undefined;
    let wakes: number;
    do {
      wakes = line.wakes;
      queue = await queues.byName(line.name);
      // Somebody may have created it after the look-up, and woken the line.
    } while (!queue && line.wakes !== wakes);
    if (queue && line.missing) notifier.waiting(line.name);
    line.missing = !queue;
    return queue;
  }

  async function serveNext(line: WaitLine, pace: Semaphore | undefined): Promise<void> {
    let joined = false;
    const hasJoined = () => {
      if (!joined) line.joining = false;
      joined = true;
    };
    try {
      const queue = await find(line);
      if (!queue) {
        hasJoined();
        return await serve(line, undefined, undefined);
      }
      const join = (trip: RoundTrip) => {
        hasJoined();
        return serve(line, queue, trip);
      };
      await joinRoundTrip(queue.id, join, pace);
    } finally {
      hasJoined();
    }
  }

  function failAll(line: WaitLine, error: unknown): void {
    for (const claim of [...line.claims]) if (!claim.busy) fail(claim, error);
  }

  /**
   * Has a line take part in the next round trip of its queue, if there is a reason to. Settles when it has been served.
   * `pace` lets a few such lines do so at once.
   */
  function pump(line: WaitLine, pace?: Semaphore): Promise<void> | undefined {
    if (line.joining || line.held || line.behind || !hasReason(line)) return undefined;
    line.joining = true;
    const served = serveNext(line, pace);
    const run = served
      .catch((error) => failAll(line, error))
      .finally(() => {
        running.delete(run);
        pump(line);
        lines.dropIfEmpty(line);
      });
    running.add(run);
    return served;
  }

  /** Something is ready, since this round trip or since an unknown time. A claim of this trip came behind it and has seen it. */
  function wake(name: string, trip?: number): void {
    const line = lines.find(name);
    if (!line) return;
    if (trip !== undefined && (line.trip?.number ?? 0) >= trip) return;
    line.wakes++;
    line.woken = true;
    pump(line);
  }

  /** Something becomes ready in the queue's next round trip: the line takes part in it, if its claims stay in it. */
  function expect(name: string): void {
    const line = lines.find(name);
    if (!line || line.leaves) return;
    line.woken = true;
    pump(line);
  }

  /**
   * A round trip of others puts jobs into a queue. Claims that wait go along, and see these jobs. The returned function tells whether
   * they are enough for all of the jobs, and did not leave the round trip.
   */
  function goAlong(queue: Queue, jobs: number, trip: RoundTrip): () => boolean {
    const line = lines.find(queue.name);
    const began = performance.now();
    if (!line || line.held || line.leaves || trip.number === undefined || began < alongFrom) return never;
    const served = waitersFor(line, jobs);
    if (served.length === 0) return never;
    const beside = trip.beside(ORDER_IN_TRIP.claim);
    const run = serveBatch(line, queue, beside, { served, visitors: [] })
      .catch((error) => failAll(line, error))
      .finally(() => {
        const ended = performance.now();
        if (ended > began + SHORT_LOCK_WAIT_MS) alongFrom = ended + AWAY_MS;
        running.delete(run);
        pump(line);
        lines.dropIfEmpty(line);
      });
    running.add(run);
    const slots = served.reduce((sum, claim) => sum + slotsOf(claim), 0);
    return () => slots >= jobs && beside.number !== undefined;
  }

  /** The moments at which a look-up of queues is under way. */
  const asking = new Set<Set<WaitLine>>();

  /** Looks at the lines of one moment. One statement asks for the queues of all of them. */
  async function lookForQueues(moment: Set<WaitLine>): Promise<void> {
    const asked = [...moment];
    asking.add(moment);
    const existing = await queues.refresh(asked.map(({ name }) => name)).finally(() => asking.delete(moment));
    for (const line of asked) {
      if (line.missing && !existing.has(line.name)) continue;
      notifier.waiting(line.name);
      looks.ask(line);
    }
  }

  function look(line: WaitLine): Promise<void> | undefined {
    if (lines.find(line.name) !== line) return undefined;
    line.wakes++;
    line.woken = true;
    return pump(line);
  }

  const looks = createLooks<WaitLine | Set<WaitLine>>({
    look(what) {
      if (!(what instanceof Set)) return look(what);
      return what.size > 0 && !asking.has(what) ? lookForQueues(what) : undefined;
    },
    fail(what, error) {
      for (const line of what instanceof Set ? what : [what]) failAll(line, error);
    },
  });

  function wakeAll(): void {
    for (let moment = 0; moment < MOMENTS; moment++) looks.ask(lines.ofMoment(moment));
  }

  const momentNow = () => Math.floor((performance.now() * MOMENTS) / POLL_MS);
  let moment = momentNow();
  const poll = setInterval(() => {
    // A busy process may have missed some moments.
    for (const now = momentNow(); moment < now; moment++) looks.ask(lines.ofMoment(moment));
  }, POLL_MS / MOMENTS);
  poll.unref();

  return {
    wake,
    expect,
    goAlong,
    wakeAll,
    open,

    /** Has the claims of a queue look again, as soon as there is a place. */
    lookAt(name: string): void {
      const line = lines.find(name);
      if (line) looks.ask(line);
    },

    /** Leases up to `limit` jobs, and waits up to `wait_seconds` for the first. */
    claim(request: ClaimRequest, name?: ClaimName): OpenClaim {
      const claim = begin(request, name);
      pump(lines.of(claim.queues[0] as string), firstLooks);
      return handleOf(claim);
    },

    /** Answers all waiting claims with what they have. Later claims do not wait. */
    close(): void {
      clearInterval(poll);
      close();
    },

    /** Settles when no statement is under way any more. Then all that it leased to abandoned claims is being given back. */
    async idle(): Promise<void> {
      while (running.size > 0) await Promise.all(running);
    },
  };
}
