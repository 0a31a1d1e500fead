import type pg from 'pg';
import { rowsOf } from '../postgres/client.ts';
import { prepared, type Statement } from '../postgres/statements.ts';
import { type Finding, ok, problem, warning } from './finding.ts';
import { looking, type Patient } from './patient.ts';

const statements = { generic: prepared('postgres/generic_plans') };

/** The claims, and the index that each walks in the order of the queue. */
const CLAIMS: { name: string; statement: Statement; index: string }[] = [
  { name: 'plain', statement: prepared('claim/plain'), index: 'jobs_ready' },
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

/** Whether each kind of claim finds its jobs by the index that it was written for. */
export async function checkClaimPlans({ client }: Patient): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const { name, statement, index } of CLAIMS) {
    const nodes = await looking(client, async () => {
      await rowsOf(client, statements.generic, { statement_timeout: '15s' });
      return planOf(client, statement);
    });
    const scans = nodes.filter(
      (node) => node['Relation Name'] === 'jobs' && node['Node Type'].includes('Scan'),
    );
    const isWhole = scans.some((node) => node['Node Type'] === 'Seq Scan');
    const isWalked = scans.some((node) => node['Index Name'] === index);
    const isSorted = nodes.some(
      (node) => node['Node Type'] === 'Bitmap Index Scan' && node['Index Name'] === index,
    );
    if (!isWhole && isWalked) continue;
    if (!isWhole && isSorted) {
      findings.push(
        warning(
          'claim_plan',
          `A ${name} claim would read and sort what it finds, in place of walking the index ${index}.`,
          'PostgreSQL takes the queues for nearly empty. If they are not, each claim reads far more than it leases.',
          'If jobs wait: analyze dibs.jobs. Then look again.',
        ),
      );
      continue;
    }
    findings.push(
      problem(
        'claim_plan',
        `A ${name} claim does not walk the index ${index}: ${scans.map(scanOf).join(', ')}.`,
        'Each claim reads far more than it leases, and gets slower as the queue grows.',
        `Look whether dibs.${index} is there and valid ("indexes"), whether enable_indexscan or another setting of the planner was changed for the role, and run: analyze dibs.jobs.`,
      ),
    );
  }
  return findings.length > 0
    ? findings
    : [ok('claim_plan', 'Claims walk the indexes that they were written for.')];
}
