import pg from 'pg';
import { unavailable } from '../errors.ts';
import { type Call, Pipeline, type Rows } from './pipeline.ts';
import { type Prepared, type Statement, valuesOf } from './statements.ts';

const JSON_OID = 114;
const INT8_OID = 20;
const TIMESTAMPTZ_OID = 1184;

/** Runs statements; every outage comes out as the refusal `unavailable`. */
export interface Db {
  query<Parameters extends object, Row>(
    statement: Statement<Parameters, Row>,
    parameters?: Parameters,
  ): Promise<Row[]>;
}

/** The pool of connections of a replica. */
export interface Database extends Db {
  /** Runs `work` in one transaction, again after a failure that isRetryable. */
  transaction<T>(work: (db: Db) => Promise<T>): Promise<T>;
  /** Runs statements in one transaction and one round trip: the rows of each. `sent` is called when they are under way. */
  pipeline(calls: Call[], sent?: () => void): Promise<Rows[]>;
  close(): Promise<void>;
}

/**
 * A timestamptz as the API writes it: RFC 3339, UTC, milliseconds. A server in UTC sends nearly that; no Date is made
 * on the way, as each job has several.
 */
function toRfc3339(text: string): string {
  if (!text.endsWith('+00') || text.length > 29)
    return (pg.types.getTypeParser(TIMESTAMPTZ_OID)(text) as Date).toISOString();
  const fraction = text.slice(20, -3).slice(0, 3).padEnd(3, '0');
  return `${text.slice(0, 10)}T${text.slice(11, 19)}.${fraction}Z`;
}

/** Reads a column of times: those of neighbouring rows are often the same. */
function timeReader(): (text: string) => string {
  let last = '';
  let read = '';
  return (text) => {
    if (text !== last) {
      read = toRfc3339(text);
      last = text;
    }
    return read;
  };
}

const types = {
  getTypeParser(oid: number, format?: 'text' | 'binary') {
    if (oid === JSON_OID) return (text: string) => text;
    if (oid === INT8_OID) return Number;
    if (oid === TIMESTAMPTZ_OID) return timeReader();
    return pg.types.getTypeParser(oid, format as 'text');
  },
};

/** SQLSTATE classes and codes of a server that can't serve now (PostgreSQL manual, appendix A). */
const OUTAGE = /^(08...|53...|57P0.|57014|25006|25P03|3D000|28...)$/;
/** What the driver says, without a code, of a connection that is gone or silent. */
const FROM_DRIVER =
  /^(Connection terminated|timeout (exceeded|expired)|Query read timeout|Client (was|has)|Cannot use a pool after)/;

function sqlState(error: unknown): string | undefined {
  return error instanceof pg.DatabaseError ? error.code : undefined;
}

/**
 * Whether the same statements may succeed when run again: after a serialization failure, a deadlock, or when another
 * transaction gave a group its head at the same moment.
 */
function isRetryable(error: unknown): boolean {
  const state = sqlState(error);
  if (state === '23505') return (error as pg.DatabaseError).constraint === 'jobs_head';
  return state === '40001' || state === '40P01';
}

/** Whether an error speaks of the rows sent, so that sending them one by one singles out the bad one. */
export function isDataError(error: unknown): boolean {
  return /^(22|23)/.test(sqlState(error) ?? '');
}

/** Whether a statement gave up its wait for a lock: only where a lock_timeout is set. */
export const isLockTimeout = (error: unknown): boolean => sqlState(error) === '55P03';

/** Whether an unfinished job holds the unique key of one that was to be unfinished, too. */
export const isKeyTaken = (error: unknown): boolean =>
  error instanceof pg.DatabaseError && error.code === '23505' && error.constraint === 'jobs_unique';

/** Makes the refusal `unavailable` of an error that speaks of an outage. */
export function translate(error: unknown): unknown {
  const state = sqlState(error);
  if (state !== undefined) return OUTAGE.test(state) ? unavailable() : error;
  if (!(error instanceof Error)) return error;
  const fromSocket = 'syscall' in error || error instanceof AggregateError;
  return fromSocket || FROM_DRIVER.test(error.message) ? unavailable() : error;
}

async function retrying<T>(attempt: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await attempt();
    } catch (error) {
      if (tries < 5 && isRetryable(error)) continue;
      throw translate(error);
    }
  }
}

/** How a connection is made; each call that the database does not answer fails within 4.5 s in all. */
export function connectionOptions(url: string): pg.ClientConfig {
  return {
    connectionString: url,
    application_name: 'dibs',
    connectionTimeoutMillis: 1500,
    query_timeout: 3000,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
  };
}

/** Opens the pool; connections are made when they are needed. */
export function openDatabase(url: string, size: number, onError: (error: Error) => void): Database {
  const pool = new pg.Pool({ ...connectionOptions(url), types, max: size });
  let closing = false;
  pool.on('error', (error) => {
    // The pool's end does not wait for the last word of each connection, which a server that stops cuts short.
    if (!closing) onError(error);
  });
  // The pool hears of idle connections only; whoever uses one is told by the statement that fails. But an error that
  // nobody listens to would end the process.
  pool.on('connect', (client) => client.on('error', () => undefined));

  /** The driver's own prepared statements are not used: their names would be those of the pipelines. */
  const runOn = (client: pg.PoolClient, calls: Call[]) =>
    new Promise<Rows[]>((resolve, reject) => {
      client.query(
        new Pipeline(calls, types.getTypeParser, (error, results) =>
          error ? reject(error) : resolve(results),
        ),
      );
    });

  async function queryOn<Parameters extends object, Row>(
    client: pg.PoolClient,
    statement: Statement<Parameters, Row>,
    parameters?: Parameters,
  ): Promise<Row[]> {
    const { text, timeoutMs } = statement;
    if (statement.name === undefined) {
      // The driver reads a time limit from a query, too; its types don't know.
      const query = { text, values: valuesOf(statement, parameters ?? {}), query_timeout: timeoutMs };
      return (await client.query(query)).rows;
    }
    const [rows] = await runOn(client, [{ statement: statement as Prepared, parameters: parameters ?? {} }]);
    return rows as Row[];
  }

  /** Lends a connection; one on which something failed is closed, which rolls back whatever it was in. */
  const lending = <T>(work: (client: pg.PoolClient) => Promise<T>): Promise<T> =>
    retrying(async () => {
      const client = await pool.connect();
      try {
        const result = await work(client);
        client.release();
        return result;
      } catch (error) {
        client.release(true);
        throw error;
      }
    });

  return {
    query: (statement, parameters) => lending((client) => queryOn(client, statement, parameters)),
    pipeline: (calls, sent) =>
      lending((client) => {
        const results = runOn(client, calls);
        sent?.();
        return results;
      }),

    transaction: (work) =>
      lending(async (client) => {
        await client.query('begin');
        const result = await work({
          query: (statement, parameters) => queryOn(client, statement, parameters),
        });
        await client.query('commit');
        return result;
      }),

    close() {
      closing = true;
      return pool.end();
    },
  };
}
