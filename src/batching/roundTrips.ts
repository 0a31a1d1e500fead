import { setImmediate as nextLoop } from 'node:timers/promises';
import { askers } from '../askers.ts';
import { isOutage } from '../errors.ts';
import { isLockTimeout } from '../postgres/errorClasses.ts';
import { SHORT_LOCK_WAIT_MS } from '../postgres/lockWait.ts';
import type { Call, Rows } from '../postgres/pipeline.ts';
import type { Semaphore } from '../postgres/semaphore.ts';
import type { Statement } from '../postgres/statements.ts';
import { type Db, inTurnOf, type Transactions, type TransactionsInTurns } from '../postgres/transactions.ts';

/**
 * The order of the statements in a round trip. A claim comes last: it sees the jobs that its own round trip enqueues, and
 * the new heads of groups. An enqueue comes first: it locks the queue before anybody locks its jobs. The deletion of a
 * queue locks in the same order, so the two cannot deadlock.
 */
export const ORDER_IN_TRIP = { enqueue: 0, settle: 1, advance: 2, claim: 3 } as const;

/** What goes with a statement of a round trip. */
export interface Along<Row> {
  /** Is called with the rows before the next round trip begins, and before any caller is answered. */
  seen?: ((rows: Row[]) => void) | undefined;
  /** Statements that run before it and after it, in its transaction. Also when it has to run again by itself. */
  before?: Call[];
  behind?: Call[];
  /** It fails (isLockTimeout) when another transaction holds a lock that it needs. Other statements wait for the lock. */
  hearsOfLocks?: boolean;
}

/** A Db that can send other statements in the transaction of a statement. */
export interface RoundTripDb extends Db {
  query<Parameters extends object, Row>(
    statement: Statement<Parameters, Row>,
    parameters?: Parameters,
    along?: Along<Row>,
  ): Promise<Row[]>;
}

/** The number of a round trip that all claims here have seen. */
export const SEEN = 0;

/** A round trip, as one of its verbs has it. */
export interface RoundTrip {
  /** Later round trips have higher numbers. Work outside of any round trip has none. */
  number: number | undefined;
  /** The first statement of the verb goes with those of the other verbs, in their transaction. */
  db: RoundTripDb;
  /** The round trip goes without this verb. Work that takes long leaves it: the others need not wait for that work. */
  leave(): RoundTrip;
  /** The verb is answered before the next round trip begins. So what its caller sends next can go in that one. */
  answerFirst(): void;
  /** The same round trip for another verb, which begins now. */
  beside(order: number): RoundTrip;
  /** Calls `then` when the first statement of the verb is in the round trip. A claim that begins now can still join it. */
  onceGathered(then: () => void): void;
}

/**
 * Runs a verb's work when the next round trip of a queue begins. When none is under way, this begins one, which takes a
 * connection. `turns` bounds how many begin so at once.
 */
export type JoinRoundTrip = <T>(
  queueId: number,
  work: (trip: RoundTrip) => Promise<T>,
  turns?: Semaphore,
) => Promise<T>;

interface TripCall extends Call {
  order: number;
  isFirst: boolean;
  along: Along<never>;
  resolve(rows: unknown[]): void;
  reject(error: unknown): void;
}

interface Waiting {
  order: number;
  start(trip: RoundTrip): void;
  refuse(error: unknown): void;
}

interface QueueTrips {
  id: number;
  waiting: Waiting[];
  db: TripDb;
}

/** How statements of a queue run. `trying`: they fail at a lock of others. `waiting`: they wait for it. */
interface TripDb {
  trying: Transactions;
  waiting: Transactions;
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

/** Runs statements, and what goes along with each, in one transaction. Returns the rows of the statements. */
async function runTogether(
  db: Pick<Transactions, 'pipeline'>,
  calls: (Call & { along?: Along<never> })[],
  sent?: () => void,
): Promise<Rows[]> {
  const all = calls.flatMap(({ along, ...call }) => {
    const others = (beside: Call[] = []) => beside.map((other) => ({ askers: call.askers, ...other }));
    return [...others(along?.before), call, ...others(along?.behind)];
  });
  const results = await db.pipeline(all, sent);
  let at = 0;
  return calls.map(({ along }) => {
    const rows = results[at + (along?.before?.length ?? 0)];
    at += 1 + (along?.before?.length ?? 0) + (along?.behind?.length ?? 0);
    return rows as Rows;
  });
}

/** In one pass of the event loop, this number of queues begin their round trips. */
const BEGUN_AT_ONCE = 100;

/** Work outside of any round trip: each statement goes by itself. */
function outside(db: TripDb): RoundTrip {
  const trip: RoundTrip = {
    number: undefined,
    db: {
      async query<Parameters extends object, Row>(
        statement: Statement<Parameters, Row>,
        parameters?: Parameters,
        along: Along<Row> = {},
      ) {
        const call = { statement: statement as Call['statement'], parameters: parameters ?? {}, along };
        const on = along.hearsOfLocks ? db.trying : db.waiting;
        const [rows] = (await runTogether(on, [call])) as Row[][];
        along.seen?.(rows as Row[]);
        return rows as Row[];
      },
    },
    leave: () => trip,
    beside: () => trip,
    answerFirst: () => undefined,
    onceGathered: () => undefined,
  };
  return trip;
}

/** Calls `then` after all code that awaits promises, and no I/O, has gone on. */
const afterPromises = (then: () => void): void => queueMicrotask(() => process.nextTick(then));

/** Gathers the first statement of each verb for one round trip, until it is closed. Later statements go `alone`. */
function gather(number: number, alone: RoundTrip) {
  const calls: TripCall[] = [];
  let closed = false;

  const gathering = {
    /** The round trip for one verb. */
    tripOf(order: number): RoundTrip {
      let isFirst = false;
      const gathered: (() => void)[] = [];
      const trip: RoundTrip = {
        number,
        beside: (order) => (trip.number === undefined ? alone : gathering.tripOf(order)),
        answerFirst() {
          isFirst = true;
        },
        onceGathered(then) {
          gathered.push(then);
        },
        leave() {
          trip.number = undefined;
          return alone;
        },
        db: {
          query<Parameters extends object, Row>(
            statement: Statement<Parameters, Row>,
            parameters?: Parameters,
            along: Along<Row> = {},
          ) {
            if (closed || statement.name === undefined)
              return trip.leave().db.query(statement, parameters, along);
            for (const then of gathered.splice(0)) then();
            return new Promise<Row[]>((resolve, reject) =>
              calls.push({
                order,
                isFirst,
                statement: statement as Call['statement'],
                askers: askers(),
                parameters: parameters ?? {},
                along,
                resolve: resolve as TripCall['resolve'],
                reject,
              }),
            );
          },
        },
      };
      return trip;
    },

    close(): TripCall[] {
      closed = true;
      return calls;
    },
  };
  return gathering;
}

/**
 * Sends what the verbs of a queue gather in round trips, one after the other: each is one transaction. Verbs gather while
 * the round trip before is under way, and nobody waits when none is. When a round trip returns, the next one is sent
 * first. The answers are dealt out while the database works on it.
 *
 * A round trip waits for a lock for 50 ms, and is undone then. Its statements run again, one by one. A statement that meets the
 * lock again waits for it beside the next round trips. In a cautious round trip it fails instead (isLockTimeout).
 */
export function createRoundTrips(
  db: TransactionsInTurns,
  tally?: { roundTrip(jobs: number): void },
  { isCautious = false }: { isCautious?: boolean } = {},
) {
  const queues = new Map<number, QueueTrips>();
  let number = 0;
  /** Queues that wait for the beginning of their first round trip. */
  let beginning = 0;

  /**
   * Begins the round trips of a queue, after the event loop has read all sockets that are ready: their requests join. A request
   * for 1000 queues begins 100 of them in each pass, so that other work gets its turn.
   */
  async function begin(queue: QueueTrips): Promise<void> {
    for (let passes = Math.floor(beginning++ / BEGUN_AT_ONCE); passes >= 0; passes--) await nextLoop();
    beginning--;
    next(queue, () => undefined);
  }

  function dbOf(queue: number): TripDb {
    const trying = inTurnOf(db, { queue, tryMs: SHORT_LOCK_WAIT_MS });
    return { trying, waiting: isCautious ? trying : inTurnOf(db, { queue }) };
  }

  const runOne = (on: Transactions, call: TripCall): Promise<void> =>
    runTogether(on, [call]).then(([rows]) => {
      call.along.seen?.(rows as never[]);
      call.resolve(rows as Rows);
    });

  function failed({ id }: QueueTrips, call: TripCall, error: unknown): void {
    if (isCautious || call.along.hearsOfLocks || !isLockTimeout(error)) call.reject(error);
    else runOne(inTurnOf(db, { queue: id, isHeld: true }), call).catch(call.reject);
  }

  /** Runs statements again, each by itself: one of them failed and undid all, and the others must not fail for it. */
  async function runAlone(queue: QueueTrips, calls: TripCall[]): Promise<void> {
    for (const call of calls)
      await runOne(queue.db.trying, call).catch((error) => failed(queue, call, error));
  }

  async function send(queue: QueueTrips, calls: TripCall[], sent: () => void): Promise<void> {
    calls.sort((a, b) => a.order - b.order);
    try {
      const results = await runTogether(queue.db.trying, calls, sent);
      for (const [i, call] of calls.entries()) call.along.seen?.(results[i] as never[]);
      tally?.roundTrip(jobsOf(calls, results));
      const deal = () => {
        for (const [i, call] of calls.entries()) call.resolve(results[i] as Rows);
      };
      if (calls.some(({ isFirst }) => isFirst)) {
        for (const [i, call] of calls.entries()) if (call.isFirst) call.resolve(results[i] as Rows);
        await new Promise<void>(afterPromises);
      }
      next(queue, deal);
      // Deal out now, at the latest: the next round trip may have to wait for a connection.
      setImmediate(deal);
    } catch (error) {
      sent();
      if (isOutage(error)) {
        for (const call of calls) call.reject(error);
        // The database is away. The verbs that gathered meanwhile fail, too: a round trip of theirs would wait as long again.
        for (const waiting of queue.waiting.splice(0)) waiting.refuse(error);
      } else if (calls.length === 1) {
        failed(queue, calls[0] as TripCall, error);
      } else {
        await runAlone(queue, calls);
      }
      next(queue, () => undefined);
    }
  }

  /** Begins the next round trip if a verb waits for it. Calls `sent` when it is sent, or at once if there is none. */
  function next(queue: QueueTrips, sent: () => void): void {
    if (queue.waiting.length === 0) {
      queues.delete(queue.id);
      sent();
      return;
    }
    const { tripOf, close } = gather(++number, outside(queue.db));
    const isClaim = ({ order }: Waiting) => order === ORDER_IN_TRIP.claim;
    const start = (begins: (waiting: Waiting) => boolean) => {
      const all = queue.waiting;
      queue.waiting = all.filter((waiting) => !begins(waiting));
      for (const waiting of all) if (begins(waiting)) waiting.start(tripOf(waiting.order));
    };
    start((waiting) => !isClaim(waiting));
    // By then each verb has sent its first statement. Claims that began meanwhile join.
    afterPromises(() => {
      start(isClaim);
      afterPromises(() => {
        const calls = close();
        if (calls.length > 0) void send(queue, calls, sent);
        // All verbs have left it. Let sockets and timers have their turn: the verbs may come again at once.
        else setImmediate(next, queue, sent);
      });
    });
  }

  return (order: number): JoinRoundTrip => {
    const join: JoinRoundTrip = (queueId, work) =>
      new Promise((resolve, reject) => {
        const entry: Waiting = {
          order,
          start: (trip) => void work(trip).then(resolve, reject),
          refuse: reject,
        };
        const queue = queues.get(queueId);
        if (queue) {
          queue.waiting.push(entry);
        } else {
          const opened = { id: queueId, waiting: [entry], db: dbOf(queueId) };
          queues.set(queueId, opened);
          void begin(opened);
        }
      });
    return (queueId, work, turns) =>
      turns && !queues.has(queueId) ? turns(() => join(queueId, work)) : join(queueId, work);
  };
}

export type RoundTrips = ReturnType<typeof createRoundTrips>;
