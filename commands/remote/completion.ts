import type { Command } from 'commander';
import { Client } from '../../clients/typescript/src/client.ts';
import {
  listBatches,
  listDatabases,
  listJobs,
  listQueues,
  listSchedules,
} from '../../clients/typescript/src/generated.ts';
import { LOCAL } from '../local.ts';
import { shownLines } from '../shown.ts';
import { UsageError } from '../usage.ts';
import { type Cli, examples } from './cli.ts';
import { type Place, SHELLS } from './completionScripts.ts';
import { readContexts, targetOf } from './contexts.ts';
import type { GlobalOptions, Session } from './session.ts';

/** People wait for it at every key. */
const TIMEOUT_SECONDS = 2;
const MOST_QUEUES = 1000;
const RECENT = 20;

/** What a shell asks for while somebody types: names that exist now. */
const VALUES: Record<string, (client: Client, session: Session) => Promise<string[]>> = {
  queues: async (client) => (await listQueues(client, { limit: MOST_QUEUES })).queues.map(({ name }) => name),
  jobs: async (client) => (await listJobs(client, { limit: RECENT })).jobs.map(({ id }) => id),
  batches: async (client) => (await listBatches(client, { limit: RECENT })).batches.map(({ id }) => id),
  schedules: async (client) =>
    (await listSchedules(client, { limit: 1000 })).schedules.map(({ name }) => name),
  databases: async (client) => (await listDatabases(client)).databases.map(({ name }) => name),
  contexts: async (_, { terminal }) => Object.keys(readContexts(terminal.env).contexts),
};

/** Of an argument or option, by its name. */
const BY_NAME: Record<string, string> = {
  queue: 'queues',
  queues: 'queues',
  from: 'queues',
  to: 'queues',
  id: 'jobs',
  ids: 'jobs',
  database: 'databases',
};
/** What `<name>` is, below these commands. */
const NAME_OF: Record<string, string> = { queue: 'queues', schedules: 'schedules', context: 'contexts' };

function takenBy(command: Command): string | undefined {
  const name = command.registeredArguments[0]?.name() ?? '';
  const above = command.parent?.name() ?? '';
  // The ids there are not those of jobs.
  if (above === 'operations') return undefined;
  if (command.name() === 'batch' || (above === 'batch' && name === 'id')) return 'batches';
  return name === 'name' ? NAME_OF[above] : BY_NAME[name];
}

const optionsOf = (command: Command): [string, string][] =>
  command.options.filter(({ long }) => long).map(({ long, description }) => [long as string, description]);

function placesOf(program: Command): Place[] {
  const shared: [string, string][] = [...optionsOf(program), ['--help', 'how to use it']];
  const isBoth = (name: string) => program.commands.some((command) => command.name() === name);
  const local = Object.entries(LOCAL).filter(([name]) => !isBoth(name));
  const commands: [string, string][] = [
    ...local.map(([name, { summary }]): [string, string] => [name, summary]),
    ...program.commands.map((command): [string, string] => [command.name(), command.summary()]),
    ['help', 'how to use a command'],
  ];
  const below = program.commands.flatMap((command): Place[] => {
    const subcommands = command.commands.map((one): [string, string] => [one.name(), one.summary()]);
    return [
      ...command.commands.map((one) => ({
        path: [command.name(), one.name()],
        words: [...optionsOf(one), ...shared],
        takes: takenBy(one),
      })),
      {
        path: [command.name()],
        words: [...subcommands, ...optionsOf(command), ...shared],
        takes: takenBy(command),
      },
    ];
  });
  return [
    { path: [], words: commands },
    { path: ['help'], words: commands.slice(0, -1) },
    ...local.map(([name, { options, takes }]) => ({
      path: [name],
      takes,
      words: options.map((option): [string, string] => [option, '']),
    })),
    ...below,
  ];
}

const completion =
  (whole: () => Promise<Command>) =>
  async (session: Session, options: GlobalOptions, what: string): Promise<undefined> => {
    const script = SHELLS[what];
    if (script) return session.out(shownLines(script(placesOf(await whole())))) as undefined;
    const values = VALUES[what];
    if (!values) throw new UsageError(`There is completion for bash, zsh and fish, not for "${what}".`);
    const { from: _, ...target } = targetOf(session.terminal.env, options.context);
    const client = new Client({ ...target, timeoutSeconds: TIMEOUT_SECONDS });
    // A line that is being typed is no place for errors: there is nothing to offer then.
    const found = await values(client, session).catch(() => []);
    session.out(shownLines(found.map((value) => `${value}\n`).join('')));
  };

export function add({ program, act, whole }: Cli): void {
  examples(
    program
      .command('completion <shell>')
      .summary('print a script that completes command lines')
      .description(
        'Prints a script that completes command lines, for bash, zsh or fish: commands, options, queues, schedules, databases, contexts, and the last jobs and batches.',
      )
      .action(act(completion(whole))),
    'source <(dibs completion bash)                             # in ~/.bashrc',
    'dibs completion zsh > ~/.zsh/completions/_dibs               # a folder of your fpath',
    'dibs completion fish > ~/.config/fish/completions/dibs.fish',
  );
}
