import { HOME } from '../src/config/databases.ts';
import { type Config, ConfigError } from '../src/config.ts';
import { startErrorOf } from '../src/databases/named.ts';
import { isOutage, StartError } from '../src/errors.ts';
import { migrate, missingFrom } from '../src/postgres/migrate.ts';
import { causeOf } from '../src/postgres/outageLog.ts';
import type { Grants } from '../src/postgres/roles.ts';
import { argumentsIn } from './arguments.ts';
import { safe } from './shown.ts';

/** @throws UsageError */
function readOptions(args: string[]): { grants: Grants; isDryRun: boolean } {
  const roles = { type: 'string', multiple: true, default: [] as string[] } as const;
  const options = { 'grant-serve': roles, 'grant-produce': roles, 'dry-run': { type: 'boolean' } } as const;
  const { values } = argumentsIn({ args, options });
  const grants = { serve: values['grant-serve'], produce: values['grant-produce'] };
  return { grants, isDryRun: values['dry-run'] === true };
}

/** @throws StartError when the database is away */
const reachable = <T>(work: Promise<T>, name: string): Promise<T> =>
  work.catch((error) => {
    if (!isOutage(error)) throw error;
    const which = name === HOME ? 'The database' : `The database "${name}"`;
    throw new StartError(`${which} cannot be migrated: ${causeOf(error.cause)}.`);
  });

const UP_TO_DATE = 'The database is up to date.';

/** What a migration would do. */
async function plan(url: string): Promise<string[]> {
  const { migrations, functions } = await missingFrom(url);
  const lines = [
    ...migrations.map((name) => `Would migrate: ${name}`),
    ...functions.map((name) => `Would make the function: ${name}`),
  ];
  return lines.length > 0 ? lines : [UP_TO_DATE];
}

async function run(url: string, grants: Grants): Promise<string[]> {
  const names = await migrate(url, grants);
  return [
    names.length > 0 ? `Migrated: ${names.join(', ')}` : UP_TO_DATE,
    ...grants.serve.map((role) => `${role} may serve.`),
    ...grants.produce.map((role) => `${role} may call dibs.enqueue.`),
  ];
}

/** `dibs migrate`: all databases, each in a transaction of its own. */
export async function migrateCommand({ databaseUrl, otherDatabases }: Config, args: string[]): Promise<void> {
  const { grants, isDryRun } = readOptions(args);
  if (databaseUrl === undefined)
    throw new ConfigError(
      'DATABASE_URL must name the database to migrate; `dibs serve` migrates the embedded one',
    );
  for (const { name, url } of [{ name: HOME, url: databaseUrl }, ...otherDatabases]) {
    const isAlone = otherDatabases.length === 0;
    const done = isDryRun ? plan(url) : run(url, grants);
    const lines = await reachable(isAlone ? done : done.catch(startErrorOf(name)), name);
    const from = isAlone ? '' : `${name}: `;
    for (const line of lines) process.stdout.write(safe(`${from}${line}\n`));
  }
}
