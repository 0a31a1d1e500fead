#!/usr/bin/env node
import { DibsError } from './clients/typescript/src/errors.ts';
import { UsageError } from './commands/usage.ts';
import { ConfigError, readConfig } from './src/config.ts';
import { EmbeddedError } from './src/embedded/errors.ts';
import { Refusal, StartError } from './src/errors.ts';
import { loggable } from './src/logger.ts';
import { version } from './src/version.ts';

const USAGE = `Usage: dibs <command>

  serve       run the service; the environment configures it, see the README
  migrate     bring the database at DATABASE_URL up to date, and exit
                --grant-serve ROLE     also give a role what \`dibs serve\` needs
                --grant-produce ROLE   also let a role call dibs.enqueue
  work        run a command for each job of a queue of the Dibs at DIBS_URL
  keys        create, list, rotate or revoke access keys in that database, or in the embedded one
  doctor      look at that database, and say what is wrong with it and what to do
  export      write its jobs, queues and schedules to a file
  import      read such a file into it
  --version   print the version
`;

/** Loads only what the command needs: the whole service takes half a second. */
async function main(command: string | undefined, args: string[]): Promise<void> {
  if (command === 'serve') {
    const { serveCommand } = await import('./commands/serve.ts');
    return serveCommand(readConfig(process.env));
  }
  if (command === 'migrate') {
    const { migrateCommand } = await import('./commands/migrate.ts');
    return migrateCommand(readConfig(process.env), args);
  }
  if (command === 'work') {
    const { workCommand } = await import('./commands/work.ts');
    return workCommand(args, process.env);
  }
  if (command === 'keys') {
    const { keysCommand } = await import('./commands/keys.ts');
    return keysCommand(args, () => readConfig(process.env));
  }
  if (command === 'doctor') {
    const { doctorCommand } = await import('./commands/doctor.ts');
    return doctorCommand(args, () => readConfig(process.env));
  }
  if (command === 'export') {
    const { exportCommand } = await import('./commands/export.ts');
    return exportCommand(args, () => readConfig(process.env));
  }
  if (command === 'import') {
    const { importCommand } = await import('./commands/import.ts');
    return importCommand(args, () => readConfig(process.env));
  }
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
    error instanceof StartError ||
    error instanceof Refusal ||
    error instanceof DibsError;
  const { stack } = loggable(error) as { stack?: string };
  const code = error instanceof DibsError ? ` (${error.code})` : '';
  process.stderr.write(`dibs: ${isForUser ? error.message : (stack ?? loggable(error))}${code}\n`);
  process.exitCode = error instanceof UsageError ? 2 : 1;
}

// Node would print every field of the error.
process.on('uncaughtException', (error) => {
  endWith(error);
  process.exit();
});

await main(process.argv[2], process.argv.slice(3)).catch(endWith);
