import { readFileSync } from 'node:fs';
import type { StatementTypes } from './statementTypes.ts';

/*
 * Statements live in sql/, one per file. They name their parameters (`:queue_id`), and a line `-- include <file>` puts
 * in a fragment of sql/. Names become positions here, once, when the module that uses the statement is loaded.
 */

const folder = new URL('../../sql/', import.meta.url);

const COMMENT = /^ *--.*\n/gm;
const INCLUDE = /^( *)-- include ([\w/]+\.sql)$/gm;
/** `:queue_id`, but not the cast `::uuid`. */
const PARAMETER = /(?<![:\w]):([a-z][a-z0-9_]*)/g;

/** A file of sql/ with its fragments put in. */
export function readSql(file: string): string {
  const fragment = (_: string, indent: string, name: string) =>
    readSql(name)
      .replaceAll(COMMENT, '')
      .trimEnd()
      .replaceAll(/^(?=.)/gm, indent);
  return readFileSync(new URL(file, folder), 'utf8').replaceAll(INCLUDE, fragment);
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
  /** How long this statement may run, if it has another limit than all the others. It goes by itself, in no round trip. */
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
