#!/usr/bin/env node
import { DibsError } from './clients/typescript/src/errors.ts';
import { UsageError } from './commands/usage.ts';
import { ConfigError, readConfig } from './src/config.ts';
import { EmbeddedError } from './src/embedded/errors.ts';
import { Refusal, StartError } from './src/errors.ts';
import { loggable } from './src/logger.ts';
import { version } from './src/version.ts';

/** Loads only what the command needs: the whole service takes half a second. */
async function main(command: string | undefined, args: string[]): Promise<void> {
  if ((command === 'serve' || command === 'migrate') && args.includes('--help')) {
    const { LOCAL } = await import('./commands/local.ts');
    process.stderr.write(LOCAL[command]?.help ?? '');
    return;
  }
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
  if (command === 'help' && args[0] !== undefined) return main(args[0], [...args.slice(1), '--help']);
  const { NAMES, remoteCommand } = await import('./commands/remote/remote.ts');
  if (command !== undefined && NAMES.includes(command)) {
    const { endWithReader, ownTerminal } = await import('./commands/remote/terminal.ts');
    endWithReader();
    process.exitCode = await remoteCommand(command, args, ownTerminal(process.env));
    return;
  }
  const { usageText } = await import('./commands/help.ts');
  process.stderr.write(await usageText());
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
