import { isOutage } from '../errors.ts';
import { outageAsRefusal } from '../postgres/errorClasses.ts';
import { causeOf } from '../postgres/outageLog.ts';
import { checkClaimPlans } from './claimPlan.ts';
import { checkConnections } from './connections.ts';
import { type Finding, THRESHOLDS, type Thresholds, warning } from './finding.ts';
import { checkHorizon, checkSlots } from './horizon.ts';
import { checkHosts } from './hosts.ts';
import { checkClock, checkCommits } from './measured.ts';
import { connected, type Patient } from './patient.ts';
import { checkPooler, STATEMENT_MODE } from './pooler.ts';
import { checkQueueNumbers } from './queueNumbers.ts';
import { checkRole, checkSchema } from './schema.ts';
import { checkSettings } from './settings.ts';
import { checkIndexes, checkTables } from './tables.ts';

type Check = (patient: Patient) => Promise<Finding[]>;

const OF_SERVER: [string, Check][] = [
  ['hosts', checkHosts],
  ['settings', checkSettings],
  ['connections', checkConnections],
  ['clock', checkClock],
  ['role', checkRole],
  ['horizon', checkHorizon],
  ['replication_slots', checkSlots],
  ['schema', checkSchema],
];
/** These make no sense where writes or the schema are missing. */
const OF_SCHEMA: [string, Check][] = [
  ['commit_latency', checkCommits],
  ['dead_rows', checkTables],
  ['indexes', checkIndexes],
  ['claim_plan', checkClaimPlans],
  ['queue_numbers', checkQueueNumbers],
];

const isLost = (error: unknown): boolean =>
  isOutage(error) && !/SQLSTATE 42/.test(causeOf((error as Error).cause));

/** A check that fails is a finding. Only without a connection there is none. */
async function run([name, check]: [string, Check], patient: Patient): Promise<Finding[]> {
  try {
    return await check(patient);
  } catch (error) {
    if (isLost(outageAsRefusal(error))) throw error;
    return [
      warning(
        name,
        `This could not be checked: ${causeOf(error)}.`,
        'Something may be wrong here.',
        'Look again as the owner of the schema.',
      ),
    ];
  }
}

export interface Examined {
  url: string;
  listenUrl?: string | undefined;
  poolSize: number;
  isEmbedded: boolean;
  thresholds?: Partial<Thresholds>;
}

const NEEDED = ['reachable', 'schema', 'privileges', 'writes', 'encoding', 'version'];

/** Whether Dibs can serve from a database with these findings. */
export const isServable = (findings: Finding[]): boolean =>
  !findings.some(
    ({ check, level, found }) => level === 'problem' && (NEEDED.includes(check) || found === STATEMENT_MODE),
  );

/**
 * Looks at a database as Dibs needs it. It changes nothing: all it writes is ten empty messages into the WAL.
 * @throws Refusal `unavailable` when the database cannot be reached
 */
export async function examine({
  url,
  listenUrl,
  poolSize,
  isEmbedded,
  thresholds,
}: Examined): Promise<Finding[]> {
  try {
    const findings = await checkPooler({ url, listenUrl });
    if (findings.some(({ found }) => found === STATEMENT_MODE)) return findings;
    await connected(url, async (client) => {
      const patient: Patient = {
        client,
        url,
        listenUrl,
        poolSize,
        isEmbedded,
        thresholds: { ...THRESHOLDS, ...thresholds },
      };
      for (const check of OF_SERVER) findings.push(...(await run(check, patient)));
      if (isServable(findings)) for (const check of OF_SCHEMA) findings.push(...(await run(check, patient)));
    });
    return findings;
  } catch (error) {
    throw outageAsRefusal(error);
  }
}

/** The worst of them. */
export const worstOf = (findings: Finding[]): Finding['level'] =>
  findings.some(({ level }) => level === 'problem')
    ? 'problem'
    : findings.some(({ level }) => level === 'warning')
      ? 'warning'
      : 'ok';
