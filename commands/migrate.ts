import { type Config, ConfigError } from '../src/config.ts';
import { isOutage, StartError } from '../src/errors.ts';
import { migrate } from '../src/postgres/migrate.ts';
import { causeOf } from '../src/postgres/outageLog.ts';

/** `dibs migrate` */
export async function migrateCommand({ databaseUrl }: Config): Promise<void> {
  if (databaseUrl === undefined)
    throw new ConfigError(
      'DATABASE_URL must name the database to migrate; `dibs serve` migrates the embedded one',
    );
  const names = await migrate(databaseUrl).catch((error) => {
    throw isOutage(error) ? new StartError(`The database cannot serve: ${causeOf(error.cause)}.`) : error;
  });
  process.stdout.write(
    names.length > 0 ? `Migrated: ${names.join(', ')}\n` : 'The database is up to date.\n',
  );
}
