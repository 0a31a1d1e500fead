import { readFileSync } from 'node:fs';
import type { StatementTypes } from './statementTypes.ts';

/*
 * Statements live in sql/, one per file. They name their parameters (`:queue_id`). A line
 * `-- include shared/listed_jobs.sql order=desc` puts in a fragment of sql/, with `desc` where the fragment says
 * `{order}`. All of it comes from sql/. Names become positions here, once, when the module that uses the statement is
 * loaded.
 */

const folder = new URL('../../sql/', import.meta.url);

const COMMENT = /^ *--.*\n/gm;
const INCLUDE = /^( *)-- include (.*)$/gm;
const FRAGMENT = /^(shared|sources)\/\w+\.sql$/;
const VALUE = /^([a-z]+)=([\w.,<>]+)$/;
const PLACE = /\{([a-z]+)\}/g;
/** `:queue_id`, but not the cast `::uuid`. */
const PARAMETER = /(?<![:\w]):([a-z][a-z0-9_]*)/g;

type Values = Map<string, string>;

/** Puts values into the places of a text. @throws Error when one has no place, or a place has none */
function fill(text: string, values: Values, file: string): string {
  const places = new Set([...text.matchAll(PLACE)].map((match) => match[1] as string));
  if (places.size !== values.size || [...places].some((place) => !values.has(place)))
    throw new Error(`${file} takes the values ${[...places].sort()}, and gets ${[...values.keys()].sort()}`);
  return text.replaceAll(PLACE, (_, place) => values.get(place) as string);
}

/** The fragment that a line names (`shared/listed_jobs.sql order=desc`), without its comments. */
function fragmentOf(line: string): string {
  const [file = '', ...given] = line.split(' ');
  const values: Values = new Map();
  for (const item of given) {
    const [, place, value] = VALUE.exec(item) ?? [];
    if (place && value) values.set(place, value);
  }
  if (!FRAGMENT.test(file) || values.size !== given.length) throw new Error(`Cannot include ${line}`);
  return readSql(file, values).replaceAll(COMMENT, '').trimEnd();
}

/** A file of sql/ with its fragments put in, and the values in its places. */
export function readSql(file: string, values: Values = new Map()): string {
  const text = fill(readFileSync(new URL(file, folder), 'utf8'), values, file);
  return text.replaceAll(INCLUDE, (_, indent: string, line: string) =>
    fragmentOf(line).replaceAll(/^(?=.)/gm, indent),
  );
}

/** A statement. One with a name is prepared once per connection. The others are planned at each call. */
// biome-ignore lint/suspicious/noExplicitAny: any statement, where the types of its parameters and rows do not matter.
export interface Statement<Parameters = any, Row = any> {
  text: string;
  /** The names of `$1`, `$2` and so on in the text. */
  parameters: string[];
  name?: string;
  /** Its file under sql/, without the ending: what logs and traces call it. */
  file?: string;
  /**
   * How long this statement may run, if it has another limit than all the others. It goes by itself, in no round trip.
   */
  timeoutMs?: number;
  /** Carries the types. It has no value. */
  types?: [Parameters, Row];
}

// biome-ignore lint/suspicious/noExplicitAny: as above.
export interface Prepared<Parameters = any, Row = any> extends Statement<Parameters, Row> {
  name: string;
}

type Name = keyof StatementTypes;
type ParametersOf<N extends Name> = StatementTypes[N]['parameters'];
type ColumnsOf<N extends Name> = StatementTypes[N]['columns'];
type Nullable<Columns> = { [C in keyof Columns]: Columns[C] | null };

type Required<Row> = { [C in keyof Row]-?: undefined extends Row[C] ? never : C }[keyof Row];

/** The columns that `Row` lacks, that the statement lacks, and that have another type. */
type Difference<Row, Columns> =
  | Exclude<keyof Columns, keyof Row>
  | Exclude<Required<Row>, keyof Columns>
  | {
      [C in keyof Row & keyof Columns]: NonNullable<Row[C]> extends Columns[C] ? never : C;
    }[keyof Row & keyof Columns];

interface RowType<Row> {
  row?: Row;
}

/** The type of a statement's rows, as second argument: `prepared('queues/by_id', row<QueueRow>())`. */
export const row = <Row>(): RowType<Row> => ({});

/** Does not compile when the type of the rows differs from the columns of the statement. */
type Agreeing<Row, Columns> = RowType<Row> &
  ([Difference<Row, Columns>] extends [never] ? unknown : { differs: Difference<Row, Columns> });

function load(name: string): { text: string; parameters: string[]; file: string } {
  const parameters: string[] = [];
  const position = (_: string, parameter: string) => {
    if (!parameters.includes(parameter)) parameters.push(parameter);
    return `$${parameters.indexOf(parameter) + 1}`;
  };
  const text = readSql(`${name}.sql`).replaceAll(COMMENT, '').replaceAll(PARAMETER, position);
  return { text, parameters, file: name };
}

/** A statement that is rare, or whose best plan depends on its parameters. */
export function planned<N extends Name, Row = Nullable<ColumnsOf<N>>>(
  name: N,
  _row?: Agreeing<Row, ColumnsOf<N>>,
): Statement<ParametersOf<N>, Row> {
  return load(name);
}

/** A statement of the hot path. It is parsed and planned once for each connection. */
export function prepared<N extends Name, Row = Nullable<ColumnsOf<N>>>(
  name: N,
  _row?: Agreeing<Row, ColumnsOf<N>>,
): Prepared<ParametersOf<N>, Row> {
  return { ...load(name), name };
}

/** A statement for a connection of the driver, without our pool. */
export const queryOf = <Parameters extends object>(
  statement: Statement<Parameters>,
  parameters: Parameters,
): { text: string; values: unknown[] } => ({ text: statement.text, values: valuesOf(statement, parameters) });

/** The values of a statement's parameters, in the order of their positions. */
export const valuesOf = ({ parameters }: Statement, named: object): unknown[] =>
  parameters.map((name) => (named as Record<string, unknown>)[name]);
