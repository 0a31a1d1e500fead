import type pg from 'pg';
import type { Askers } from '../askers.ts';
import { bindInParts, Encoded } from './encoded.ts';
import { lockTimeoutOf, SHORT_LOCK_WAIT_MS } from './lockWait.ts';
import { prepared, type Statement, valuesOf } from './statements.ts';

/** A statement with the values of its parameters. One without a name is parsed and planned for this call. */
export interface Call {
  statement: Statement;
  parameters: object;
  /** Whose requests it runs for, if they are not those of the code that sends it. */
  askers?: Askers;
}

export const callOf = <Parameters extends object>(
  statement: Statement<Parameters>,
  parameters: Parameters,
): Call => ({ statement, parameters });

export type Rows = Record<string, unknown>[];
type ParserOf = (oid: number) => (text: string) => unknown;
type Columns = { name: string; parse: (text: string) => unknown }[];

/** How long a statement may run on the server, and how long the client waits for a round trip. */
const STATEMENT_MS = 2300;
export const ROUND_TRIP_MS = 3000;

/** How long the client waits for these statements. */
export const waitMsFor = ([first]: Call[]): number =>
  (first?.statement.timeoutMs ?? STATEMENT_MS) + ROUND_TRIP_MS - STATEMENT_MS;

const limits = { generic: prepared('postgres/generic_plans'), custom: prepared('postgres/time_limit') };

/** What goes before the statements: their limits and, for prepared ones, generic plans. */
function settingsFor(calls: Call[], lockWaitMs: number): Call {
  const timeoutMs = calls[0]?.statement.timeoutMs ?? STATEMENT_MS;
  const kind = calls.every(({ statement }) => statement.name !== undefined) ? 'generic' : 'custom';
  return callOf(limits[kind], {
    statement_timeout: `${timeoutMs}ms`,
    lock_timeout: lockTimeoutOf(lockWaitMs),
  });
}

/** Goes before a statement inside a round trip, and sets the time limit for it and those after it. */
export const timeLimit = (ms: number = STATEMENT_MS): Call =>
  callOf(limits.custom, { statement_timeout: `${ms}ms`, lock_timeout: null });

/** Whether some of the statements have a time limit of their own. */
export const hasOwnLimit = (calls: Call[]): boolean =>
  calls.some(({ statement }) => statement.timeoutMs !== undefined || statement === limits.custom);

/** The statements that a connection has prepared, and the columns that they return. */
const preparedOn = new WeakMap<pg.Connection, Map<string, Columns>>();

const nobody = () => undefined;

const ESCAPED = /["\\]/;

function element(value: unknown): string {
  if (value === null) return 'NULL';
  if (typeof value !== 'string') return String(value);
  return `"${ESCAPED.test(value) ? value.replace(/["\\]/g, '\\$&') : value}"`;
}

/**
 * A parameter in the text format of PostgreSQL (manual, "Array Input and Output Syntax"). A Buffer is binary already.
 */
function parameter(value: unknown): string | Buffer | Encoded | null {
  if (value instanceof Buffer || value instanceof Encoded) return value;
  if (Array.isArray(value)) return `{${value.map(element).join()}}`;
  return value === null ? null : String(value);
}

/**
 * Runs statements in one transaction and one round trip. It sends all of them before the first is answered, and one
 * Sync ends them (PostgreSQL manual, "Pipelining"). If one fails, none has an effect. At most one of them may have no
 * name. It asks a connection only once for the columns of a statement that has one.
 */
export class Pipeline implements pg.Submittable {
  /** Is told how it ended. After an error it may be told again. */
  callback: (error: unknown, results: Rows[]) => void = nobody;
  /** After an error: whether it is sure which statements the server keeps. */
  isSure = true;
  /** Whether the server takes no writes on this connection. */
  isReadOnly = false;
  /** When each statement ended. The server tells that at once only where `isTimed`, otherwise at the end of all. */
  readonly ends: number[] = [];
  readonly #isTimed: boolean;
  readonly #calls: Call[];
  /** How many of them make settings. Nobody asked for these. */
  readonly #settings: number;
  readonly #parserOf: ParserOf;
  readonly #results: Rows[];
  readonly #described = new Map<string, Columns>();
  #known = new Map<string, Columns>();
  #at = 0;
  #unreadable: unknown;

  /** `session` goes before all others (session.ts). */
  constructor(
    calls: Call[],
    parserOf: ParserOf,
    { lockWaitMs = SHORT_LOCK_WAIT_MS, isTimed = false, session = [] as Call[] } = {},
  ) {
    this.#isTimed = isTimed;
    this.#calls = [...session, settingsFor(calls, lockWaitMs), ...calls];
    this.#settings = session.length + 1;
    this.#parserOf = parserOf;
    this.#results = this.#calls.map(() => []);
  }

  submit(connection: pg.Connection): void {
    this.#known = preparedOn.get(connection) ?? new Map();
    preparedOn.set(connection, this.#known);
    connection.stream.cork();
    for (const { statement, parameters } of this.#calls) {
      const { name = '', text } = statement;
      const isNew = !this.#known.has(name) && !this.#described.has(name);
      if (isNew) this.#described.set(name, []);
      if (isNew) connection.parse({ name, text, types: [] }, true);
      const values = valuesOf(statement, parameters).map(parameter);
      const inParts = values.some((value) => value instanceof Encoded);
      // As the driver does it: a connection that is gone is told of by its own event.
      if (inParts && connection.stream.writable)
        for (const part of bindInParts(name, values)) connection.stream.write(part);
      else if (!inParts)
        connection.bind({ statement: name, values: values as (string | Buffer | null)[] }, true);
      if (isNew) connection.describe({ type: 'P', name: '' }, true);
      connection.execute(null, true);
      // The server would keep its answers until the Sync.
      if (this.#isTimed) connection.flush();
    }
    connection.sync();
    connection.stream.uncork();
  }

  /** Of the statement that is answered. After the last one, the commit may still fail. */
  get #name(): string {
    return this.#calls[this.#at]?.statement.name ?? '';
  }

  handleRowDescription({ fields }: { fields: { name: string; dataTypeID: number }[] }): void {
    this.#described.set(
      this.#name,
      fields.map(({ name, dataTypeID }) => ({ name, parse: this.#parserOf(dataTypeID) })),
    );
  }

  /** What is thrown here would end the process: the socket called. */
  handleDataRow({ fields }: { fields: (string | null)[] }): void {
    try {
      this.#read(fields);
    } catch (error) {
      this.#unreadable ??= new Error(`A row of ${this.#name || 'a statement'} could not be read.`, {
        cause: error,
      });
    }
  }

  #read(fields: (string | null)[]): void {
    const columns = (this.#known.get(this.#name) ?? this.#described.get(this.#name)) as Columns;
    const row: Record<string, unknown> = {};
    for (let i = 0; i < columns.length; i++) {
      const { name, parse } = columns[i] as Columns[number];
      const text = fields[i] as string | null;
      row[name] = text === null ? null : parse(text);
    }
    (this.#results[this.#at] as Rows).push(row);
  }

  handleCommandComplete(): void {
    if (this.#isTimed && this.#at >= this.#settings) this.ends.push(performance.now());
    this.#at++;
  }

  /** What was prepared before the error stays prepared. The server has passed over what comes after it. */
  handleError(error: unknown): void {
    const done = this.#calls.slice(0, this.#at).map(({ statement }) => statement.name ?? '');
    for (const name of done) this.#keep(name);
    const failed = this.#described.get(this.#name);
    if (failed && failed.length > 0) this.#keep(this.#name);
    // One without a name is never kept.
    else if (failed && this.#name !== '') this.isSure = false;
    this.callback(error, []);
  }

  #keep(name: string): void {
    const columns = this.#described.get(name);
    if (columns && name !== '') this.#known.set(name, columns);
  }

  handleReadyForQuery(): void {
    for (const name of this.#described.keys()) this.#keep(name);
    this.isReadOnly = this.#results[this.#settings - 1]?.[0]?.is_read_only === true;
    this.callback(this.#unreadable ?? null, this.#results.slice(this.#settings));
  }
}
