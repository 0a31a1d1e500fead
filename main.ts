#!/usr/bin/env node
import { parseArgs } from 'node:util';
import { serve } from './serve.ts';
import { type Config, ConfigError, readConfig } from './src/config.ts';
import { EmbeddedError } from './src/embedded/errors.ts';
import { isOutage, StartError } from './src/errors.ts';
import { createLogger, loggable } from './src/logger.ts';
import { migrate } from './src/postgres/migrate.ts';
import { causeOf } from './src/postgres/outageLog.ts';
import type { Grants } from './src/postgres/roles.ts';
import { version } from './src/version.ts';

const USAGE = `Usage: dibs <command>

  serve       run the service; the environment configures it, see the README
  migrate     bring the database at DATABASE_URL up to date, and exit
                --grant-serve ROLE     also give a role what \`dibs serve\` needs
                --grant-produce ROLE   also let a role call dibs.enqueue
  --version   print the version
`;

/** The shutdown may take this long after SIGTERM. Then the process ends anyway. */
const GRACE_MS = 9000;

async function runService(config: Config): Promise<void> {
  const logger = createLogger(config.logLevel);
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

/** The arguments of a command are wrong. */
class UsageError extends Error {}

/** @throws UsageError */
function readGrants(args: string[]): Grants {
  const roles = { type: 'string', multiple: true, default: [] as string[] } as const;
  try {
    const { values } = parseArgs({ args, options: { 'grant-serve': roles, 'grant-produce': roles } });
    return { serve: values['grant-serve'], produce: values['grant-produce'] };
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

async function runMigrations(config: Config, grants: Grants): Promise<void> {
  if (config.databaseUrl === undefined)
    throw new ConfigError(
      'DATABASE_URL must name the database to migrate; `dibs serve` migrates the embedded one',
    );
  const names = await migrate(config.databaseUrl, grants).catch((error) => {
    if (!isOutage(error)) throw error;
    throw new StartError(`The database cannot be migrated: ${causeOf(error.cause)}.`);
  });
  process.stdout.write(
    names.length > 0 ? `Migrated: ${names.join(', ')}\n` : 'The database is up to date.\n',
  );
  for (const role of grants.serve) process.stdout.write(`${role} may serve.\n`);
  for (const role of grants.produce) process.stdout.write(`${role} may call dibs.enqueue.\n`);
}

async function main(command: string | undefined, args: string[]): Promise<void> {
  if (command === 'serve') return runService(readConfig(process.env));
  if (command === 'migrate')
    return runMigrations(readConfig(process.env, { listens: false }), readGrants(args));
  if (command === '--version') {
    process.stdout.write(`${version}\n`);
    return;
  }
  process.stderr.write(USAGE);
  process.exitCode = command === undefined || command === 'help' || command === '--help' ? 0 : 2;
}

/** Says why the process ends, without what an error may quote. */
function endWith(error: unknown): void {
  const isForUser =
    error instanceof ConfigError ||
    error instanceof UsageError ||
    error instanceof EmbeddedError ||
    error instanceof StartError;
  const { stack } = loggable(error) as { stack?: string };
  process.stderr.write(`dibs: ${isForUser ? error.message : (stack ?? loggable(error))}\n`);
  process.exitCode = error instanceof UsageError ? 2 : 1;
}

// Node would print every field of the error.
process.on('uncaughtException', (error) => {
  endWith(error);
  process.exit();
});

await main(process.argv[2], process.argv.slice(3)).catch(endWith);
