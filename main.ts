#!/usr/bin/env node
import { pino } from 'pino';
import { serve } from './serve.ts';
import { type Config, ConfigError, readConfig } from './src/config.ts';
import { EmbeddedError } from './src/embedded/errors.ts';
import { isOutage, StartError } from './src/errors.ts';
import { migrate } from './src/postgres/migrate.ts';
import { causeOf } from './src/postgres/outageLog.ts';
import { version } from './src/version.ts';

const USAGE = `Usage: dibs <command>

  serve       run the service; the environment configures it, see the README
  migrate     bring the database at DATABASE_URL up to date, and exit
  --version   print the version
`;

/** The shutdown may take this long after SIGTERM. Then the process ends anyway. */
const GRACE_MS = 9000;

async function runService(config: Config): Promise<void> {
  const logger = pino({ level: config.logLevel });
  const stop = new AbortController();
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      stop.abort();
      setTimeout(() => {
        logger.warn(`the shutdown took longer than ${GRACE_MS / 1000} s after ${signal}, ending anyway`);
        process.exit(0);
      }, GRACE_MS).unref();
    });
  }
  await serve(config, logger, stop.signal);
}

async function runMigrations(config: Config): Promise<void> {
  if (config.databaseUrl === undefined)
    throw new ConfigError(
      'DATABASE_URL must name the database to migrate; `dibs serve` migrates the embedded one',
    );
  const names = await migrate(config.databaseUrl).catch((error) => {
    throw isOutage(error) ? new StartError(`The database cannot serve: ${causeOf(error.cause)}.`) : error;
  });
  process.stdout.write(
    names.length > 0 ? `Migrated: ${names.join(', ')}\n` : 'The database is up to date.\n',
  );
}

async function main(command: string | undefined): Promise<void> {
  if (command === 'serve') return runService(readConfig(process.env));
  if (command === 'migrate') return runMigrations(readConfig(process.env, { listens: false }));
  if (command === '--version') {
    process.stdout.write(`${version}\n`);
    return;
  }
  process.stderr.write(USAGE);
  process.exitCode = command === undefined || command === 'help' || command === '--help' ? 0 : 2;
}

try {
  await main(process.argv[2]);
} catch (error) {
  const isForUser =
    error instanceof ConfigError || error instanceof EmbeddedError || error instanceof StartError;
  process.stderr.write(
    `dibs: ${error instanceof Error ? (isForUser ? error.message : (error.stack ?? error.message)) : error}\n`,
  );
  process.exitCode = 1;
}
