import type pg from 'pg';
import { planned, queryOf } from '../../src/postgres/statements.ts';
import type { StatementTypes } from '../../src/postgres/statementTypes.ts';

/** Whether this is the statement by which a queue without limits and keys leases: one job, or several. */
export const isPlainClaim = (name: string | undefined): boolean =>
  name === 'claim/plain' || name === 'claim/one';

/** The statements of sql/, by file: `claim/plain`. */
export type StatementName = keyof StatementTypes;

/** The parameters of a statement, by name. */
export type ParametersOf<N extends StatementName> = StatementTypes[N]['parameters'];

/** Runs a statement of sql/ on the connection of a test. The rows are as the driver reads them. */
export async function rowsOf<N extends StatementName>(
  client: pg.Client,
  name: N,
  parameters: ParametersOf<N>,
): Promise<pg.QueryResultRow[]> {
  return (await client.query(queryOf(planned(name), parameters))).rows;
}
