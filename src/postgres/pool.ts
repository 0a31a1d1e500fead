import pg from 'pg';
import { unavailable } from '../errors.ts';
import { cancel } from './cancel.ts';
import { columnTypes } from './columnTypes.ts';
import { connectionOptions } from './connection.ts';
import {
  isClaimTaken,
  isDataError,
  isLockTimeout,
  isRetryable,
  isStalePlan,
  isTimeLimit,
  outageAsRefusal,
  readOnly,
} from './errorClasses.ts';
import { inTime, isClientTimeout } from './inTime.ts';
import { createLockWaits } from './lockWait.ts';
import { withLongEncoded } from './longParameters.ts';
import { type OutageLog, silentOutageLog } from './outageLog.ts';
import { type Call, hasOwnLimit, Pipeline, ROUND_TRIP_MS, type Rows, waitMsFor } from './pipeline.ts';
import { BEGIN, SetClient, sessionCalls } from './session.ts';
import type { Statement } from './statements.ts';
import { type Attempts, type Db, inTurns, type TransactionsInTurns } from './transactions.ts';
import { type TripNotes, type TripWatch, watchTrip } from './trip.ts';

export type { Db };

/** The pool of connections of a replica. */
export interface Database extends TransactionsInTurns {
  connections(): Connections;
  /** Whether the database takes writes, as far as this replica has heard. */
  serves(): boolean;
  /** How much work waits for a lock, or for a place to do so. */
  heldByLocks(): number;
  close(): Promise<void>;
}

/** How the connections of a pool are used at this moment. */
export interface Connections {
  busy: number;
  idle: number;
  /** Calls that wait for a connection. */
  waiting: number;
  most: number;
}

/** How long a transaction may take in all, from the wait for a connection to the commit. */
const TRANSACTION_MS = 4500;

/** Runs statements in an open transaction. */
const dbOf = (run: (calls: Call[]) => Promise<Rows[]>): Db => ({
  async query<Parameters extends object, Row>(
    statement: Statement<Parameters, Row>,
    parameters?: Parameters,
  ) {
    const [rows] = await run(await withLongEncoded([{ statement, parameters: parameters ?? {} }]));
    return rows as Row[];
  },
});

const runText = (client: pg.PoolClient, text: string, limitMs: number): Promise<unknown> =>
  inTime(limitMs, (done) => client.query(text, done));

/**
 * Opens the pool. It makes connections when they are needed. `log` hears of outages and of their ends, `watch` of each
 * transaction.
 */
export function openDatabase(
  url: string,
  size: number,
  log: OutageLog = silentOutageLog(),
  watch?: TripWatch,
): Database {
  // Each statement has a time limit by inTime.ts.
  const options = () => ({ ...connectionOptions(url), types: columnTypes, query_timeout: 0 });
  class Client extends SetClient {
    constructor() {
      super(options());
    }
  }
  const pool = new pg.Pool({ ...options(), max: size, Client });
  let closing = false;
  pool.on('error', (error) => {
    // The end of the pool does not wait for the last message of each connection. A server that stops cuts them short.
    if (!closing) log.failed(error);
  });

  const readOnlyClients = new WeakSet<pg.PoolClient>();

  /** Refusals of the server after which the connection is as it was before. */
  const harmless = new WeakSet<object>();

  /** Does not use the driver's own prepared statements: their names would clash with those of the pipelines. */
  async function runOn(
    client: pg.PoolClient,
    calls: Call[],
    notes: TripNotes,
    lockWaitMs: number,
    limitMs = waitMsFor(calls),
  ): Promise<Rows[]> {
    const pipeline = new Pipeline(calls, columnTypes.getTypeParser, {
      lockWaitMs,
      isTimed: notes.isTimed(calls),
      session: sessionCalls(client),
    });
    const from = performance.now();
    const ran = (results?: Rows[]) =>
      notes.ran({ calls, from, ends: pipeline.ends, rows: results?.map(({ length }) => length) });
    try {
      const results = await inTime<Rows[]>(limitMs, (done) => {
        pipeline.callback = done;
        client.query(pipeline);
      });
      ran(results);
      if (pipeline.isReadOnly) readOnlyClients.add(client);
      return results;
    } catch (error) {
      ran();
      const isHarmless =
        isLockTimeout(error) ||
        isDataError(error) ||
        isClaimTaken(error) ||
        (hasOwnLimit(calls) && isTimeLimit(error));
      if (isHarmless && pipeline.isSure) harmless.add(error as object);
      throw error;
    }
  }

  /** `mayTimeOut`: a time limit that is reached is no outage. */
  async function withRetries<T>(attempt: () => Promise<T>, mayTimeOut: boolean): Promise<T> {
    for (let tries = 1; ; tries++) {
      try {
        return await attempt();
      } catch (error) {
        // Every connection of the pool may have the stale plan.
        if (tries < (isStalePlan(error) ? size + 1 : 5) && isRetryable(error)) continue;
        if (isRetryable(error)) {
          log.undone(error);
          throw unavailable('Other transactions were in the way. Try again later.', 'not_done', error);
        }
        const refusal = outageAsRefusal(error);
        if (refusal !== error && !(mayTimeOut && isTimeLimit(error))) log.failed(error);
        throw refusal;
      }
    }
  }

  /**
   * Lends a connection. If anything fails on it, the connection is closed, which rolls back its transaction. It survives
   * what is harmless: many statements may meet the lock of another transaction, a claim that another request has, or a short
   * time limit of their own. Work that is `whole` leaves no transaction open.
   */
  const withConnection = <T>(
    work: (client: pg.PoolClient, notes: TripNotes) => Promise<T>,
    { asked, whole, mayTimeOut = false }: { asked: number; whole: boolean; mayTimeOut?: boolean },
  ): Promise<T> =>
    withRetries(async () => {
      const notes = watchTrip(watch, asked);
      const client = await pool.connect();
      notes.connected();
      try {
        const result = await work(client, notes);
        notes.end();
        // What it read is answered. The next connection may find a server that takes writes.
        const takesWrites = !readOnlyClients.has(client);
        if (takesWrites) log.served();
        else log.failed(readOnly());
        client.release(!takesWrites);
        return result;
      } catch (error) {
        notes.end();
        if (isClientTimeout(error)) cancel(client, connectionOptions(url));
        if (!harmless.has(error as object)) client.release(true);
        else if (whole) client.release();
        else
          runText(client, 'rollback', ROUND_TRIP_MS).then(
            () => client.release(),
            () => client.release(true),
          );
        throw error;
      }
    }, mayTimeOut);

  const locks = createLockWaits(size);
  const attempts: Attempts = {
    pipeline: (calls, { lockWaitMs, asked }, sent) =>
      withConnection(
        async (client, notes) => {
          const running = runOn(client, calls, notes, lockWaitMs);
          sent?.();
          const results = await running;
          notes.committed();
          return results;
        },
        { asked, whole: true, mayTimeOut: hasOwnLimit(calls) },
      ),

    async transaction(work, { lockWaitMs, asked }) {
      const until = performance.now() + TRANSACTION_MS;
      const left = () => Math.max(1, Math.min(ROUND_TRIP_MS, until - performance.now()));
      return withConnection(
        async (client, notes) => {
          await runText(client, BEGIN, left());
          const result = await work(dbOf((calls) => runOn(client, calls, notes, lockWaitMs, left())));
          const from = performance.now();
          await runText(client, 'commit', left());
          notes.committed(from);
          return result;
        },
        { asked, whole: false },
      );
    },
  };

  return {
    ...inTurns(attempts, locks.inTurn),
    heldByLocks: locks.held,

    connections: () => ({
      busy: pool.totalCount - pool.idleCount,
      idle: pool.idleCount,
      waiting: pool.waitingCount,
      most: size,
    }),

    serves: () => !log.isDown(),

    close() {
      closing = true;
      return pool.end();
    },
  };
}
