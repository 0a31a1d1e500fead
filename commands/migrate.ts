import { parseArgs } from 'node:util';
import { type Config, ConfigError } from '../src/config.ts';
import { isOutage, StartError } from '../src/errors.ts';
import { migrate } from '../src/postgres/migrate.ts';
import { causeOf } from '../src/postgres/outageLog.ts';
import type { Grants } from '../src/postgres/roles.ts';
import { parsed } from './usage.ts';

/** @throws UsageError */
function readGrants(args: string[]): Grants {
  const roles = { type: 'string', multiple: true, default: [] as string[] } as const;
  const options = { 'grant-serve': roles, 'grant-produce': roles };
  const { values } = parsed(() => parseArgs({ args, options }));
  return { serve: values['grant-serve'], produce: values['grant-produce'] };
}

/** `dibs migrate` */
export async function migrateCommand({ databaseUrl }: Config, args: string[]): Promise<void> {
  const grants = readGrants(args);
  if (databaseUrl === undefined)
    throw new ConfigError(
      'DATABASE_URL must name the database to migrate; `dibs serve` migrates the embedded one',
    );
  const names = await migrate(databaseUrl, grants).catch((error) => {
    if (!isOutage(error)) throw error;
    throw new StartError(`The database cannot be migrated: ${causeOf(error.cause)}.`);
  });
  process.stdout.write(
    names.length > 0 ? `Migrated: ${names.join(', ')}\n` : 'The database is up to date.\n',
  );
  for (const role of grants.serve) process.stdout.write(`${role} may serve.\n`);
  for (const role of grants.produce) process.stdout.write(`${role} may call dibs.enqueue.\n`);
}
