import { readdirSync } from 'node:fs';
import { posix } from 'node:path';
import { ROOT, textOf } from './sources.ts';

/*
 * `npm run test:databases` runs each test file that starts a Dibs over three databases, but for those that are named
 * here. A new file is in.
 */

/** Why test files stay with one database: paths below `test/`, without `.test.ts`. One with `/` at its end is a folder. */
const OVER_ONE: Record<string, string[]> = {
  'It makes its own databases, several or one.': [
    'batches/batchChaos',
    'batches/batchRaces',
    'databases/',
    'docs/severalDatabases',
    'looking/databases',
    'relay/',
    'service/restore',
    'transfer/',
    'web/databases',
    'web/relocation',
  ],
  'By contract, several databases answer otherwise: a full queue elsewhere takes jobs, they arrive a moment later.':
    ['claim/claimRequest', 'enqueue/refusals'],
  'It reads series of metrics, which name their database where there are several: databases/lists.': [
    'metrics/cardinality',
    'metrics/replicas',
    'metrics/scrape',
    'metrics/totals',
    'service/probes',
  ],
  'It looks at the statements, the plans or the dead rows of the one database into which it puts its jobs.': [
    'claim/claimRows',
    'claim/deadEntries',
    'claim/front',
    'counting/agreement',
    'counting/countsOverDead',
    'counting/samples',
    'enqueue/capacityOverDead',
    'floor/',
    'groups/restingRepair',
    'looking/manyLooks',
    'operations/operationCrash',
  ],
  'It counts the transactions of one database at rest.': [
    'maintenance/asleep',
    'maintenance/dueKilled',
    'maintenance/leftAlone',
    'maintenance/restClaims',
    'maintenance/restReplicas',
  ],
  'It stops, slows, locks or changes the one server of the database. databases/away does so to one of several.':
    [
      'maintenance/rescueGrace',
      'metrics/outage',
      'postgres/',
      'service/blackHole',
      'service/crash',
      'service/failover',
      'service/lockWaits',
      'service/lockedTable',
      'service/longOutage',
      'service/outage',
      'service/readOnlyDatabase',
      'service/shutdown',
      'service/slowDatabase',
      'service/startAway',
      'web/away',
    ],
  'It is about the command or the start of a Dibs with DATABASE_URL alone: its roles, its errors, its log.': [
    'access/commands',
    'commands/misused',
    'commands/terminal',
    'doctor/',
    'service/commands',
    'service/logSecrets',
    'service/logs',
    'service/onTerminal',
    'service/readOnly',
    'service/roles',
    'service/servingRole',
    'service/startBuilds',
    'service/startErrors',
    'service/tls',
    'service/upgrade',
  ],
  'Its Dibs has no database.': [
    'http/accessLog',
    'http/arrival',
    'http/earlyAnswers',
    'http/limits',
    'http/tls',
    'service/lean',
  ],
  'It is about programs that ask a Dibs: examples, clients, a browser, a Prometheus. They see no databases.':
    ['docs/', 'metrics/alerts', 'metrics/deploy', 'packages/', 'sdk/', 'web/'],
};

const isBelow = (file: string, name: string) =>
  name.endsWith('/') ? file.startsWith(`test/${name}`) : file === `test/${name}.test.ts`;

/** What is named above. */
export const namedOverOne = (): string[] => Object.values(OVER_ONE).flat();

/** Whether it is named above. */
export const staysWithOne = (file: string): boolean => namedOverOne().some((name) => isBelow(file, name));

/** What starts a Dibs in a test: a service in its process, or the command. */
const STARTS = /\bbuildApp\(|\bdist\/main\.js\b/;

/** What a file imports of `test/`, but for types. */
const importsOf = (file: string, text: string): string[] =>
  [...text.matchAll(/^import (?!type\b)[^;]*?from '(\.[^']+)'/gm)]
    .map(([, name]) => posix.join(posix.dirname(file), name as string))
    .filter((imported) => imported.startsWith('test/') && imported.endsWith('.ts'));

const known = new Map<string, boolean>();

/** Whether a file of `test/`, or one that it imports from there, starts a Dibs. */
export function startsDibs(file: string): boolean {
  const before = known.get(file);
  if (before !== undefined) return before;
  known.set(file, false);
  const text = textOf(file);
  const found = STARTS.test(text) || importsOf(file, text).some(startsDibs);
  known.set(file, found);
  return found;
}

/** All test files, as paths from the root. */
export const testFiles = (): string[] =>
  readdirSync(`${ROOT}test`, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.test.ts'))
    .map((file) => `test/${file}`)
    .sort();

/** The test files that run over several databases. */
export const overSeveral = (): string[] =>
  testFiles().filter((file) => startsDibs(file) && !staysWithOne(file));
