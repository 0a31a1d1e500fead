import pg from 'pg';
import { createAttempts } from './attempts.ts';
import { withOwnClient } from './client.ts';
import { columnTypes } from './columnTypes.ts';
import { connectionOptions } from './connection.ts';
import { isOfOneCall, outageAsRefusal } from './errorClasses.ts';
import { hostsOf } from './hosts.ts';
import { createLend } from './lend.ts';
import { createLockWaits } from './lockWait.ts';
import { type OutageLog, silentOutageLog } from './outageLog.ts';
import { createRetries } from './retries.ts';
import { SetClient } from './session.ts';
import { type Db, inTurns, type TransactionsInTurns } from './transactions.ts';
import type { TripWatch } from './trip.ts';

export type { Db };

/** The pool of connections of a replica. */
export interface Database extends TransactionsInTurns {
  connections(): Connections;
  /** Whether the database takes writes, as far as this replica has heard. */
  serves(): boolean;
  /** The same, for people: false until the end of an outage. */
  isUp(): boolean;
  /** How much work waits for a lock, or for a place to do so. */
  heldByLocks(): number;
  /**
   * Lends a connection of its own, outside of the pool, for work that takes long. `name` is what the server shows of it.
   * @throws Refusal `unavailable` for an outage
   */
  withOwnClient<T>(name: string, work: (client: pg.Client) => Promise<T>): Promise<T>;
  /**
   * From now on, `check` has each new connection first. It is closed when that fails. Returns a pool of one connection that is not
   * checked, for what `check` needs.
   */
  checkNew(check: Check): Database;
  close(): Promise<void>;
}

/** Whether a new connection may be used. */
type Check = (client: pg.Client) => Promise<void>;

/** How the connections of a pool are used at this moment. */
export interface Connections {
  busy: number;
  idle: number;
  /** Calls that wait for a connection. */
  waiting: number;
  most: number;
}

/**
 * A connection that nobody used for so long is closed. To make one takes two transactions. So it is longer than the time
 * after which a replica that rests tells again where claims wait (RENEW_MS of src/replicas/announcedWaits.ts).
 */
const IDLE_MS = 30_000;

function createPool(url: string, size: number, check: Check): pg.Pool {
  // Each statement has a time limit by inTime.ts.
  const options = () => ({ ...connectionOptions(url), types: columnTypes, query_timeout: 0 });
  /** Its options are made anew for each connection: the files of TLS may have been renewed. */
  class Client extends SetClient {
    constructor() {
      super(url, options());
    }

    protected override async prepare(): Promise<void> {
      await super.prepare();
      await check(this);
    }
  }
  return new pg.Pool({ ...options(), max: size, idleTimeoutMillis: IDLE_MS, Client });
}

/**
 * Opens the pool. It makes connections when they are needed. `outages` hears of outages and of their ends, `watch` of each
 * transaction.
 */
export function openDatabase(
  url: string,
  size: number,
  outages: OutageLog = silentOutageLog(),
  watch?: TripWatch,
): Database {
  let checkNew: Check = async () => undefined;
  const pool = createPool(url, size, (client) => checkNew(client));
  const hosts = hostsOf(url);
  const unwatch = hosts.watch(() => pool.totalCount > 0);
  let closing = false;
  const log: OutageLog = {
    ...outages,
    failed(error) {
      if (!isOfOneCall(error)) hosts.distrust();
      outages.failed(error);
    },
  };
  pool.on('error', (error) => {
    // The end of the pool does not wait for the last message of each connection. A server that stops cuts them short.
    if (!closing) log.failed(error);
  });
  const locks = createLockWaits(size);
  const attempts = createAttempts(createLend({ pool, url, log, watch }), createRetries(size, log));

  return {
    ...inTurns(attempts, locks.inTurn),
    heldByLocks: locks.held,

    connections: () => ({
      busy: pool.totalCount - pool.idleCount,
      idle: pool.idleCount,
      waiting: pool.waitingCount,
      most: size,
    }),

    serves: () => !log.isAway(),
    isUp: () => !log.isDown(),

    withOwnClient: (application_name, work) =>
      withOwnClient(url, { application_name }, work).catch((error) => {
        throw outageAsRefusal(error);
      }),

    checkNew(check) {
      checkNew = check;
      return openDatabase(url, 1);
    },

    close() {
      closing = true;
      unwatch();
      return pool.end();
    },
  };
}
