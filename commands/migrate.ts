import { type Config, ConfigError } from '../src/config.ts';
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
const reachable = <T>(work: Promise<T>): Promise<T> =>
  work.catch((error) => {
    if (!isOutage(error)) throw error;
    throw new StartError(`The database cannot be migrated: ${causeOf(error.cause)}.`);
  });

async function say(url: string): Promise<void> {
  const { migrations, functions } = await reachable(missingFrom(url));
  for (const name of migrations) process.stdout.write(safe(`Would migrate: ${name}\n`));
  for (const name of functions) process.stdout.write(safe(`Would make the function: ${name}\n`));
  if (migrations.length + functions.length === 0) process.stdout.write('The database is up to date.\n');
}

/** `dibs migrate` */
export async function migrateCommand({ databaseUrl }: Config, args: string[]): Promise<void> {
  const { grants, isDryRun } = readOptions(args);
  if (databaseUrl === undefined)
    throw new ConfigError(
      'DATABASE_URL must name the database to migrate; `dibs serve` migrates the embedded one',
    );
  if (isDryRun) return say(databaseUrl);
  const names = await reachable(migrate(databaseUrl, grants));
  process.stdout.write(
    names.length > 0 ? `Migrated: ${names.join(', ')}\n` : 'The database is up to date.\n',
  );
  for (const role of grants.serve) process.stdout.write(safe(`${role} may serve.\n`));
  for (const role of grants.produce) process.stdout.write(safe(`${role} may call dibs.enqueue.\n`));
}
