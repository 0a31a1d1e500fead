import type { Command } from 'commander';
import { misused } from '../arguments.ts';
import { suggestion } from '../suggestion.ts';
import { type Cli, createCli, STATUS, statusOf } from './cli.ts';
import type { Terminal } from './terminal.ts';

type Module = { add(cli: Cli): void };

/** In which file each command is. Only that file is loaded. */
const MODULES: [names: string[], load: () => Promise<Module>][] = [
  [['enqueue'], () => import('./enqueue.ts')],
  [['claim', 'ack', 'nack', 'release', 'extend'], () => import('./leases.ts')],
  [['jobs', 'job', 'history', 'explain'], () => import('./jobs.ts')],
  [['errors'], () => import('./errors.ts')],
  [['workers'], () => import('./workers.ts')],
  [['retry', 'cancel', 'delete', 'move'], () => import('./acts.ts')],
  [['edit'], () => import('./edit.ts')],
  [['operations'], () => import('./operations.ts')],
  [['batches', 'batch'], () => import('./batches.ts')],
  [['queues', 'queue', 'pause', 'resume', 'purge', 'redrive'], () => import('./queues.ts')],
  [['apply', 'diff', 'dump'], () => import('./queuesFile.ts')],
  [['databases', 'relocate'], () => import('./databases.ts')],
  [['schedules'], () => import('./schedules.ts')],
  [['keys'], () => import('./keys.ts')],
  [['audit'], () => import('./audit.ts')],
  [['top'], () => import('./top.ts')],
  [['tail'], () => import('./tail.ts')],
  [['demo'], () => import('./demo.ts')],
  [['mcp'], () => import('./mcp.ts')],
  [['bench'], () => import('./bench.ts')],
  [['context'], () => import('./context.ts')],
  [['completion'], () => import('./completion.ts')],
];

/** The commands that talk to a running Dibs, and what makes that easier. */
export const NAMES: string[] = MODULES.flatMap(([names]) => names);

/** All of them, for what is made of their descriptions. */
export async function wholeCli(terminal: Terminal): Promise<Command> {
  const cli = createCli(terminal, { ended: () => undefined, whole: async () => cli.program });
  for (const [, load] of MODULES) (await load()).add(cli);
  return cli.program;
}

/**
 * Commander takes any word for an argument of the default of a group. Only `dibs queue NAME` and `dibs batch ID` are meant so, and no
 * word follows there.
 * @throws UsageError
 */
function checkSubcommand(program: Command, name: string, [word = '-', next = '-']: string[]): void {
  const group = program.commands.find((command) => command.name() === name);
  const names = group?.commands.map((command) => command.name()) ?? [];
  const takesName = group?.usage().startsWith('<') && next.startsWith('-');
  if (names.length === 0 || takesName || word.startsWith('-') || names.includes(word)) return;
  throw misused(`unknown command '${name} ${word}'${suggestion(word, names)}`);
}

/**
 * Runs a command, and returns its exit status.
 * @throws what is a bug
 */
export async function remoteCommand(name: string, args: string[], terminal: Terminal): Promise<number> {
  let status: number = STATUS.done;
  const cli = createCli(terminal, {
    ended: (code) => {
      status = code;
    },
    whole: () => wholeCli(terminal),
  });
  const [, load] = MODULES.find(([names]) => names.includes(name)) ?? [];
  if (!load) throw new Error(`${name} is no command of a session`);
  try {
    (await load()).add(cli);
    checkSubcommand(cli.program, name, args);
    await cli.program.parseAsync([name, ...args], { from: 'user' });
    return status;
  } catch (error) {
    const known = statusOf(error, terminal);
    if (known === undefined) throw error;
    // Status 2 says there that something differs.
    return name === 'diff' && known === STATUS.misused ? STATUS.failed : known;
  }
}
