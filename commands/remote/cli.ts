import { Command, CommanderError, InvalidArgumentError } from 'commander';
import { ConnectionError, DibsError, isTemporary } from '../../clients/typescript/src/errors.ts';
import { safe, safeLine } from '../shown.ts';
import { withSuggestion } from '../suggestion.ts';
import { UsageError } from '../usage.ts';
import { createSession, Declined, type GlobalOptions, type Session } from './session.ts';
import type { Terminal } from './terminal.ts';

/** What a command ends with. docs/cli.md tells them. */
export const STATUS = { done: 0, failed: 1, misused: 2, unreachable: 3, nothing: 4, differs: 2 } as const;

type Run<Options, Args extends unknown[]> = (
  session: Session,
  options: Options & GlobalOptions,
  ...args: Args
) => Promise<number | undefined>;

export interface Cli {
  program: Command;
  /** All commands, for what is made of their descriptions. */
  whole(): Promise<Command>;
  act<Options, Args extends unknown[]>(run: Run<Options, Args>): (...all: unknown[]) => Promise<void>;
}

/** An option's number. */
export const number =
  (least = 0, most = Number.MAX_SAFE_INTEGER) =>
  (text: string): number => {
    const value = Number(text);
    if (!/^-?\d+(\.\d+)?$/.test(text) || value < least || value > most)
      throw new InvalidArgumentError(`It must be a number from ${least} to ${most}.`);
    return value;
  };

/** An option that may be given several times. */
export const several = (text: string, before: string[] = []): string[] => [...before, text];

/** What stands below a help. */
export const examples = (command: Command, ...lines: string[]): Command =>
  command.addHelpText('after', `\nExamples:\n${lines.map((line) => `  $ ${line}\n`).join('')}`);

export function createCli(
  terminal: Terminal,
  { ended, whole }: { ended: (status: number) => void; whole: () => Promise<Command> },
): Cli {
  const program = new Command('dibs')
    .exitOverride()
    .configureOutput({
      writeOut: (text) => void terminal.stdout.write(safe(text)),
      writeErr: (text) => void terminal.stderr.write(safe(text)),
      getOutHelpWidth: () => Math.min(terminal.stdout.columns ?? 100, 120),
      getErrHelpWidth: () => Math.min(terminal.stderr.columns ?? 100, 120),
      getOutHasColors: () => false,
      getErrHasColors: () => false,
      outputError: (text, write) => write(withSuggestion(text.replace(/^error:/, 'dibs:'))),
    })
    .configureHelp({ showGlobalOptions: true })
    .helpCommand(false)
    .showHelpAfterError('Add --help to see what it takes.')
    .option('--json', 'print JSON, for programs')
    .option(
      '--context <name>',
      'the Dibs to talk to, of `dibs context` (else DIBS_URL, and DIBS_KEY or DIBS_KEY_FILE)',
    );
  return {
    program,
    whole,
    act:
      <Options, Args extends unknown[]>(run: Run<Options, Args>) =>
      async (...all) => {
        const command = all.at(-1) as Command;
        const options = command.optsWithGlobals() as Options & GlobalOptions;
        const session = createSession(terminal, options);
        ended((await run(session, options, ...(all.slice(0, -2) as Args))) ?? STATUS.done);
      },
  };
}

/** Where only one thing is wrong, the message says it already, but for the name of the field: "/queue must be ..." */
export function refusalText(error: DibsError): string {
  const errors = error.problem.errors ?? [];
  const wrong = errors.length > 1 ? errors : [];
  const lines = wrong.map(({ in: part, path, message }) => `\n  ${safeLine(`${part}${path}: ${message}`)}`);
  const hint =
    error.code === 'unauthorized'
      ? '\nThe key comes from DIBS_KEY, from the file DIBS_KEY_FILE, or from `dibs context`.'
      : '';
  return `${safeLine(error.message).replace(/^\//, '')} (${safeLine(error.code)})${lines.join('')}${hint}`;
}

/** Says why a command ended, and returns its status. Undefined for an error that is a bug. */
export function statusOf(error: unknown, terminal: Terminal): number | undefined {
  // Commander has said why.
  if (error instanceof CommanderError) return error.exitCode === 0 ? STATUS.done : STATUS.misused;
  const say = (text: string) => void terminal.stderr.write(`dibs: ${safe(text).replace(/^dibs /, '')}\n`);
  if (error instanceof DibsError) say(refusalText(error));
  else if (error instanceof ConnectionError)
    say(`${safeLine(error.message)}\nIs that the right Dibs? DIBS_URL or \`dibs context\` says where it is.`);
  else if (error instanceof UsageError || error instanceof Declined) say(error.message);
  else return undefined;
  if (error instanceof UsageError) return STATUS.misused;
  return isTemporary(error) ? STATUS.unreachable : STATUS.failed;
}
