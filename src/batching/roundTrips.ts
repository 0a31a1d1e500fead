import { setImmediate as nextLoop } from 'node:timers/promises';
import { isOutage } from '../errors.ts';
import type { Rows } from '../postgres/pipeline.ts';
import type { TransactionsInTurns } from '../postgres/transactions.ts';
import { gather } from './gather.ts';
import { type JoinRoundTrip, ORDER_IN_TRIP, type RoundTrip } from './roundTrip.ts';
import { createTripCalls, type TripCall, type TripCalls } from './tripCalls.ts';

/** A verb that waits for the next round trip of its queue. */
interface Waiting {
  order: number;
  start(trip: RoundTrip): void;
  refuse(error: unknown): void;
}

/** A queue with a round trip under way. */
interface QueueTrips {
  waiting: Waiting[];
  calls: TripCalls;
}

/** In one pass of the event loop, at most this number of queues begin their round trips. */
const BEGUN_AT_ONCE = 100;

const nothing = () => undefined;

/** Resolves when all code has gone on that waits for promises which are settled. It waits for no I/O. */
const afterPromises = (): Promise<void> =>
  new Promise((resolve) => queueMicrotask(() => process.nextTick(resolve)));

const isClaim = ({ order }: Waiting) => order === ORDER_IN_TRIP.claim;

/**
 * Gathers the statements of the verbs that wait, for the round trip with this number. Returns none if all verbs left
 * it.
 */
async function gatherCalls(queue: QueueTrips, number: number): Promise<TripCall[]> {
  const { tripOf, close } = gather(number, queue.calls.alone);
  const start = (begins: (waiting: Waiting) => boolean) => {
    const all = queue.waiting;
    queue.waiting = all.filter((waiting) => !begins(waiting));
    for (const waiting of all) if (begins(waiting)) waiting.start(tripOf(waiting.order));
  };
  start((waiting) => !isClaim(waiting));
  await afterPromises();
  // By now each verb has sent its first statement. Claims that began meanwhile join.
  start(isClaim);
  await afterPromises();
  return close();
}

const isFirst = (call: TripCall) => call.isFirst;

/** Answers the verbs of a round trip, or those of them that are meant. */
function dealOut(calls: TripCall[], results: Rows[], isMeant?: (call: TripCall) => boolean): void {
  for (const [i, call] of calls.entries()) if (!isMeant || isMeant(call)) call.resolve(results[i] as Rows);
}

/** How many jobs a round trip has carried: those that its statements name, or that they have found. */
function jobsOf(calls: TripCall[], results: Rows[]): number {
  let jobs = 0;
  for (const [i, { parameters }] of calls.entries()) {
    const { ids } = parameters as { ids?: unknown[] };
    jobs += ids?.length ?? (results[i] as Rows).length;
  }
  return jobs;
}

/** Lets queues begin at the end of a pass of the event loop, at most BEGUN_AT_ONCE of them in each. */
function createBeginning(): () => Promise<void> {
  let beginning = 0;
  return async () => {
    for (let passes = Math.floor(beginning++ / BEGUN_AT_ONCE); passes >= 0; passes--) await nextLoop();
    beginning--;
  };
}

/**
 * Sends what the verbs of a queue gather in round trips, one after the other: each is one transaction. Verbs gather
 * while the round trip before is under way, and nobody waits when none is. When a round trip returns, the next one is
 * sent first. The answers are dealt out while the database works on it.
 *
 * A round trip waits for a lock for 50 ms, and is undone then. Its statements run again, one by one. A statement that
 * meets the lock again waits for it beside the next round trips. In a cautious round trip it fails instead
 * (isLockTimeout).
 */
export function createRoundTrips(
  db: TransactionsInTurns,
  tally?: { roundTrip(jobs: number): void },
  { isCautious = false }: { isCautious?: boolean } = {},
) {
  const queues = new Map<number, QueueTrips>();
  const begin = createBeginning();
  let number = 0;

  /** Sends a round trip. Returns what deals out its answers. `sent` is called when it is on its way, or has failed. */
  async function send(queue: QueueTrips, calls: TripCall[], sent: () => void): Promise<() => void> {
    try {
      const results = await queue.calls.together(calls, sent);
      for (const [i, call] of calls.entries()) call.along.seen?.(results[i] as never[]);
      tally?.roundTrip(jobsOf(calls, results));
      if (calls.some(isFirst)) {
        dealOut(calls, results, isFirst);
        await afterPromises();
      }
      const deal = () => dealOut(calls, results);
      // Deal out in the next pass of the event loop at the latest: the next round trip may have to wait for a
      // connection.
      setImmediate(deal);
      return deal;
    } catch (error) {
      sent();
      if (isOutage(error)) {
        for (const call of calls) call.reject(error);
        // The database is away. The verbs that gathered meanwhile fail, too: a round trip of theirs would wait as long
        // again.
        for (const waiting of queue.waiting.splice(0)) waiting.refuse(error);
      } else {
        await queue.calls.again(calls, error);
      }
      return nothing;
    }
  }

  /** Sends the round trips of a queue, until no verb waits for one. */
  async function run(id: number, queue: QueueTrips): Promise<void> {
    // The event loop reads all sockets that are ready in one pass. Their requests join.
    await begin();
    let deal: () => void = nothing;
    while (queue.waiting.length > 0) {
      const calls = await gatherCalls(queue, ++number);
      if (calls.length > 0) deal = await send(queue, calls, deal);
      // All verbs have left it. Let sockets and timers have their turn: the verbs may come again at once.
      else await nextLoop();
    }
    queues.delete(id);
    deal();
  }

  function queueOf(id: number): QueueTrips {
    const underWay = queues.get(id);
    if (underWay) return underWay;
    const queue = { waiting: [], calls: createTripCalls(db, id, isCautious) };
    queues.set(id, queue);
    void run(id, queue);
    return queue;
  }

  return (order: number): JoinRoundTrip => {
    const join: JoinRoundTrip = (queueId, work) =>
      new Promise((resolve, reject) =>
        queueOf(queueId).waiting.push({
          order,
          start: (trip) => void work(trip).then(resolve, reject),
          refuse: reject,
        }),
      );
    return (queueId, work, turns) =>
      turns && !queues.has(queueId) ? turns(() => join(queueId, work)) : join(queueId, work);
  };
}
