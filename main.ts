#!/usr/bin/env node
import { DibsError } from './clients/typescript/src/errors.ts';
import { LOCAL } from './commands/local.ts';
import { safe } from './commands/shown.ts';
import { UsageError } from './commands/usage.ts';
import { ConfigError, readConfig } from './src/config.ts';
import { EmbeddedError } from './src/embedded/errors.ts';
import { Refusal, StartError } from './src/errors.ts';
import { loggable } from './src/logger.ts';
import { version } from './src/version.ts';

async function main(command: string | undefined, args: string[]): Promise<void> {
  const local = command !== undefined && Object.hasOwn(LOCAL, command) ? LOCAL[command] : undefined;
  // Behind `--` it is for the program that `dibs work` runs.
  const wantsHelp = args.slice(0, [...args, '--'].indexOf('--')).includes('--help');
  if (local?.help !== undefined && wantsHelp) {
    process.stderr.write(local.help);
    return;
  }
  const surroundings = { env: process.env, readConfig: () => readConfig(process.env) };
  if (local && !local.isRemote?.(args, surroundings.env))
    return local.run(wantsHelp ? ['--help'] : args, surroundings);
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
  if (command !== undefined && command !== 'help' && command !== '--help') {
    const { suggestion } = await import('./commands/suggestion.ts');
    const known = [...Object.keys(LOCAL), ...NAMES, '--version', '--help'];
    throw new UsageError(
      `unknown command '${command}'${suggestion(command, known)}\n\`dibs help\` lists them.`,
    );
  }
  const { usageText } = await import('./commands/help.ts');
  process.stderr.write(await usageText());
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
  process.stderr.write(safe(`dibs: ${isForUser ? error.message : (stack ?? loggable(error))}${code}\n`));
  process.exitCode = error instanceof UsageError ? 2 : 1;
}

// Node would print every field of the error.
process.on('uncaughtException', (error) => {
  endWith(error);
  process.exit();
});

await main(process.argv[2], process.argv.slice(3)).catch(endWith);
