import pg from 'pg';
import { planned, valuesOf } from '../../src/postgres/statements.ts';
import type { ParametersOf, StatementName } from './statements.ts';

/** A node of EXPLAIN (FORMAT JSON), as far as the tests look. */
export interface PlanNode {
  'Node Type': string;
  'Relation Name'?: string;
  'Index Name'?: string;
  'Index Cond'?: string;
  'CTE Name'?: string;
  'Subplan Name'?: string;
  'Actual Rows'?: number;
  'Actual Loops'?: number;
  'Rows Removed by Filter'?: number;
  'Rows Removed by Join Filter'?: number;
  'Shared Hit Blocks'?: number;
  'Shared Read Blocks'?: number;
  Plans?: PlanNode[];
}

const SETTINGS = planned('postgres/generic_plans').text;

export type Mode = 'generic' | 'custom';

const quoted = (text: string) => `"${text.replaceAll(/(["\\])/g, '\\$1')}"`;

function literal(value: unknown): string {
  if (value === null) return 'null';
  if (!Array.isArray(value)) return pg.escapeLiteral(String(value));
  return pg.escapeLiteral(`{${value.map((v) => (v === null ? 'null' : quoted(String(v)))).join(',')}}`);
}

/** A statement of sql/ that one connection has prepared. Its generic plan is made at its first run, and kept. */
export async function prepare<N extends StatementName>(client: pg.Client, name: N, mode: Mode) {
  const statement = planned(name);
  const prepared = `${name.replace('/', '_')}_${mode}_${Math.random().toString(36).slice(2)}`;
  await client.query(`prepare ${prepared} as ${statement.text}`);

  async function explain(options: string, parameters: ParametersOf<N>): Promise<PlanNode> {
    const values = valuesOf(statement, parameters);
    const list = values.length > 0 ? `(${values.map(literal).join(', ')})` : '';
    await client.query(`set plan_cache_mode = force_${mode}_plan`);
    await client.query('begin');
    try {
      // As the service plans: sql/postgres/generic_plans.sql.
      if (mode === 'generic') await client.query(SETTINGS, ['60s', '0']);
      const { rows } = await client.query(`explain (format json${options}) execute ${prepared}${list}`);
      return rows[0]['QUERY PLAN'][0].Plan;
    } finally {
      await client.query('rollback');
    }
  }

  return {
    plan: (parameters: ParametersOf<N>) => explain('', parameters),
    /** Runs it and rolls it back. Each node of the plan tells what it read. */
    run: (parameters: ParametersOf<N>) => explain(', analyze, buffers, timing off', parameters),
  };
}

export function nodes(plan: PlanNode): PlanNode[] {
  return [plan, ...(plan.Plans ?? []).flatMap(nodes)];
}

/** The rows that the scans of a plan fetched, including those that a filter removed, and the pairs that joins compared. */
export function rowsTouched(plan: PlanNode): number {
  return nodes(plan).reduce((sum, node) => {
    const read =
      (node['Relation Name'] === 'jobs' && node['Node Type'].includes('Scan')
        ? (node['Actual Rows'] ?? 0)
        : 0) +
      (node['Rows Removed by Filter'] ?? 0) +
      (node['Rows Removed by Join Filter'] ?? 0);
    return sum + read * (node['Actual Loops'] ?? 1);
  }, 0);
}

/** The rows that scans of these tables read, also those that a filter removed. */
export const rowsRead = (plan: PlanNode, tables: string[]): number =>
  nodes(plan)
    .filter((node) => tables.includes(node['Relation Name'] ?? '') && node['Node Type'].includes('Scan'))
    .reduce(
      (sum, node) =>
        sum +
        ((node['Actual Rows'] ?? 0) + (node['Rows Removed by Filter'] ?? 0)) * (node['Actual Loops'] ?? 1),
      0,
    );

/**
 * The scans of these tables that read a whole table or index. `first` has the first column of each index: a scan without a
 * condition on it reads the whole index.
 */
export const wholeScans = (plan: PlanNode, tables: string[], first: Record<string, string>) =>
  nodes(plan).filter(
    ({ 'Node Type': type, 'Relation Name': table, 'Index Name': index, 'Index Cond': condition }) =>
      index === undefined
        ? type === 'Seq Scan' && tables.includes(table ?? '')
        : index in first && !condition?.includes(`(${first[index]} `),
  );

export const buffers = (plan: PlanNode) =>
  (plan['Shared Hit Blocks'] ?? 0) + (plan['Shared Read Blocks'] ?? 0);

/** A plan with one line for each node, to read. */
export function outline(plan: PlanNode, depth = 0): string {
  const { 'Node Type': type, 'Subplan Name': part, 'Index Cond': condition } = plan;
  const of = plan['Index Name'] ?? plan['Relation Name'] ?? plan['CTE Name'];
  const rows =
    plan['Actual Rows'] === undefined ? '' : ` rows=${plan['Actual Rows']}x${plan['Actual Loops']}`;
  const line = [part && `${part}:`, type, of, condition?.slice(0, 200)].filter(Boolean).join(' ') + rows;
  return ['  '.repeat(depth) + line, ...(plan.Plans ?? []).map((child) => outline(child, depth + 1))].join(
    '\n',
  );
}
