import { setImmediate as turn } from 'node:timers/promises';
import { isOutage } from '../errors.ts';
import type { Call, Rows } from '../postgres/pipeline.ts';
import type { Database, Db } from '../postgres/pool.ts';
import type { Statement } from '../postgres/statements.ts';

/**
 * The order of the statements of a round. A claim sees what its own round enqueues, and whose turn has come in a group;
 * and a queue is locked before its jobs, as by those who delete one, so that the two cannot deadlock.
 */
export const RANKS = { enqueue: 0, settle: 1, advance: 2, claim: 3 } as const;

/** A Db that tells of the rows of a statement before the next round begins, and so before the answers are dealt out. */
export interface RoundTripDb extends Db {
  query<Parameters extends object, Row>(
    statement: Statement<Parameters, Row>,
    parameters?: Parameters,
    seen?: (rows: Row[]) => void,
  ): Promise<Row[]>;
}

/** One verb's part in a round. */
export interface RoundTrip {
  /** Which round it is; later ones have higher numbers, and what runs outside of any has none. */
  number: number | undefined;
  /** Its first statement goes with those of the other verbs, in their transaction. */
  db: RoundTripDb;
  /** Leaves the round, which goes without it: what takes long must not hold up the other verbs. */
  leave(): RoundTrip;
}

/** Runs a verb's work when the next round of a queue begins. */
export type JoinRoundTrip = <T>(queueId: number, work: (trip: RoundTrip) => Promise<T>) => Promise<T>;

interface Sent extends Call {
  rank: number;
  seen: ((rows: never[]) => void) | undefined;
  resolve(rows: unknown[]): void;
  reject(error: unknown): void;
}

interface Waiting {
  rank: number;
  start(trip: RoundTrip): void;
  refuse(error: unknown): void;
}

interface QueueRounds {
  id: number;
  waiting: Waiting[];
}

/**
 * What a queue's verbs have gathered goes to the database together, while the round before is under way: in one
 * transaction and one round trip. Nothing waits when nothing is under way. When a round returns, the next one is sent
 * first, and the answers are dealt out while the database works on it.
 */
export function createRoundTrips(db: Database) {
  const alone: RoundTrip = {
    number: undefined,
    db: {
      async query(statement, parameters, seen) {
        const rows = await db.query(statement, parameters);
        seen?.(rows);
        return rows;
      },
    },
    leave: () => alone,
  };
  const queues = new Map<number, QueueRounds>();
  let round = 0;

  /** One that fails undoes all: each again by itself, so that none fails for another. */
  async function repeat(calls: Sent[]): Promise<void> {
    for (const call of calls)
      await db.pipeline([call]).then(([rows]) => {
        call.seen?.(rows as never[]);
        call.resolve(rows as Rows);
      }, call.reject);
  }

  async function send(queue: QueueRounds, calls: Sent[], sent: () => void): Promise<void> {
    calls.sort((a, b) => a.rank - b.rank);
    try {
      const results = await db.pipeline(calls, sent);
      for (const [i, call] of calls.entries()) call.seen?.(results[i] as never[]);
      const deal = () => {
        for (const [i, call] of calls.entries()) call.resolve(results[i] as Rows);
      };
      next(queue, deal);
      // Should the next round have to wait for a connection, its answers are not held up by that.
      setImmediate(deal);
    } catch (error) {
      sent();
      if (isOutage(error)) {
        for (const call of calls) call.reject(error);
        // Who gathered meanwhile has waited as long; with a round of its own it would wait that long again.
        for (const trip of queue.waiting.splice(0)) trip.refuse(error);
      } else if (calls.length === 1) {
        calls[0]?.reject(error);
      } else {
        await repeat(calls);
      }
      next(queue, () => undefined);
    }
  }

  /** Begins the next round, if anybody waits for it, and calls `sent` when it has gone to the database. */
  function next(queue: QueueRounds, sent: () => void): void {
    if (queue.waiting.length === 0) {
      queues.delete(queue.id);
      sent();
      return;
    }
    round++;
    let calls: Sent[] | undefined = [];
    const gathered = calls;
    for (const { rank, start } of queue.waiting.splice(0)) {
      const trip: RoundTrip = {
        number: round,
        leave() {
          trip.number = undefined;
          return alone;
        },
        db: {
          query<Parameters extends object, Row>(
            statement: Statement<Parameters, Row>,
            parameters?: Parameters,
            seen?: (rows: Row[]) => void,
          ) {
            if (!calls || statement.name === undefined)
              return trip.leave().db.query(statement, parameters, seen);
            return new Promise<Row[]>((resolve, reject) =>
              gathered.push({
                rank,
                statement: statement as Call['statement'],
                parameters: parameters ?? {},
                seen: seen as Sent['seen'],
                resolve: resolve as Sent['resolve'],
                reject,
              }),
            );
          },
        },
      };
      start(trip);
    }
    // Once every part has come to its statement, for which each takes some promises but no I/O.
    queueMicrotask(() =>
      process.nextTick(() => {
        calls = undefined;
        if (gathered.length > 0) void send(queue, gathered, sent);
        else next(queue, sent);
      }),
    );
  }

  return (rank: number): JoinRoundTrip =>
    (queueId, work) =>
      new Promise((resolve, reject) => {
        const entry: Waiting = {
          rank,
          start: (trip) => void work(trip).then(resolve, reject),
          refuse: reject,
        };
        const queue = queues.get(queueId);
        if (queue) {
          queue.waiting.push(entry);
        } else {
          const opened = { id: queueId, waiting: [entry] };
          queues.set(queueId, opened);
          // What else has arrived by now goes along: one turn of the event loop reads all the sockets that are ready.
          void turn().then(() => next(opened, () => undefined));
        }
      });
}

export type RoundTrips = ReturnType<typeof createRoundTrips>;
