import type pg from 'pg';
import { rowsOf } from '../postgres/client.ts';
import { planned, prepared, type Statement } from '../postgres/statements.ts';
import { type Finding, ok, problem } from './finding.ts';
import { looking, type Patient } from './patient.ts';

const statements = {
  generic: prepared('postgres/generic_plans'),
  byIndex: planned('doctor/by_index'),
  settings: planned('doctor/settings'),
  tables: planned('doctor/tables'),
};

const SMALL_BYTES = 8 * 2 ** 20;
const SLOW = 'Each claim reads far more than it leases, and gets slower as the queue grows.';

/** The claims, and the index that each walks in the order of the queue. */
const CLAIMS: { name: string; statement: Statement; index: string }[] = [
  { name: 'plain', statement: prepared('claim/plain'), index: 'jobs_ready' },
  { name: 'one', statement: prepared('claim/one'), index: 'jobs_ready' },
  { name: 'heads', statement: prepared('claim/heads'), index: 'jobs_ready' },
  { name: 'limited', statement: prepared('claim/limited'), index: 'jobs_ready' },
  { name: 'fair', statement: prepared('claim/fair'), index: 'jobs_fair' },
  { name: 'front', statement: prepared('claim/front'), index: 'jobs_fair_arrival' },
];

interface Node {
  'Node Type': string;
  'Relation Name'?: string;
  'Index Name'?: string;
  Plans?: Node[];
}

const nodesOf = (node: Node): Node[] => [node, ...(node.Plans ?? []).flatMap(nodesOf)];

/** The plan that serves every call of a statement. It is not run: that is why null may stand for every value. */
async function planOf(client: pg.Client, { text, parameters }: Statement): Promise<Node[]> {
  const name = 'dibs_doctor_claim';
  await client.query(`prepare ${name} as ${text}`);
  try {
    const { rows } = await client.query(
      `explain (format json) execute ${name}(${parameters.map(() => 'null').join()})`,
    );
    const plan = rows[0]['QUERY PLAN'];
    return nodesOf((typeof plan === 'string' ? JSON.parse(plan) : plan)[0].Plan);
  } finally {
    await client.query(`deallocate ${name}`).catch(() => undefined);
  }
}

const scanOf = (node: Node): string =>
  node['Index Name'] ? `${node['Node Type']} on ${node['Index Name']}` : node['Node Type'];

const scansOf = (nodes: Node[]) =>
  nodes.filter((node) => node['Relation Name'] === 'jobs' && node['Node Type'].includes('Scan'));

const walks = (nodes: Node[], index: string): boolean =>
  scansOf(nodes).some((node) => node['Index Name'] === index) &&
  !scansOf(nodes).some((node) => node['Node Type'] === 'Seq Scan');

/** Of a small table, PostgreSQL rightly reads all. Then it counts whether it could walk the index. */
async function planFor({ client }: Patient, statement: Statement, index: string): Promise<Node[]> {
  const tables = await rowsOf(client, statements.tables);
  const { bytes } = tables.find(({ name }) => name === 'jobs') ?? {};
  const plan = await planOf(client, statement);
  if (walks(plan, index) || (bytes ?? 0) > SMALL_BYTES) return plan;
  await rowsOf(client, statements.byIndex);
  return planOf(client, statement);
}

/** Whether each kind of claim finds its jobs by the index that it was written for. */
export async function checkClaimPlans(patient: Patient): Promise<Finding[]> {
  const { client } = patient;
  const [setting] = await rowsOf(client, statements.settings, { names: ['enable_indexscan'] });
  if (setting?.setting === 'off')
    return [
      problem(
        'claim_plan',
        'enable_indexscan is off, so claims walk no index.',
        SLOW,
        'Set enable_indexscan = on for the server, the database and the role.',
      ),
    ];
  const findings: Finding[] = [];
  for (const { name, statement, index } of CLAIMS) {
    const nodes = await looking(client, async () => {
      await rowsOf(client, statements.generic, { statement_timeout: '15s', lock_timeout: '0' });
      return planFor(patient, statement, index);
    });
    if (walks(nodes, index)) continue;
    findings.push(
      problem(
        'claim_plan',
        `A ${name} claim does not walk the index ${index}: ${scansOf(nodes).map(scanOf).join(', ')}.`,
        SLOW,
        `Look whether dibs.${index} is there and valid ("indexes"), and run: analyze dibs.jobs.`,
      ),
    );
  }
  return findings.length > 0
    ? findings
    : [ok('claim_plan', 'Claims walk the indexes that they were written for.')];
}
