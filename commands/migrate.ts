import { type Config, ConfigError } from '../src/config.ts';
import { migrate } from '../src/postgres/migrate.ts';

/** `dibs migrate` */
export async function migrateCommand({ databaseUrl }: Config): Promise<void> {
  if (databaseUrl === undefined)
    throw new ConfigError(
      'DATABASE_URL must name the database to migrate; `dibs serve` migrates the embedded one',
    );
  const names = await migrate(databaseUrl);
  process.stdout.write(
    names.length > 0 ? `Migrated: ${names.join(', ')}\n` : 'The database is up to date.\n',
  );
}
