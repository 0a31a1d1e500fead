import type { Command } from 'commander';
import { LOCAL } from '../local.ts';
import { shownLines } from '../shown.ts';
import { UsageError } from '../usage.ts';
import { type Cli, examples } from './cli.ts';
import type { Session } from './session.ts';

/** What can stand after a command, and each of its words in a few others. */
interface Place {
  path: string[];
  words: [word: string, summary: string][];
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
      })),
      { path: [command.name()], words: [...subcommands, ...optionsOf(command), ...shared] },
    ];
  });
  return [
    { path: [], words: commands },
    { path: ['help'], words: commands.slice(0, -1) },
    ...local.map(([name, { options }]) => ({
      path: [name],
      words: options.map((option): [string, string] => [option, '']),
    })),
    ...below,
  ];
}

const wordsOf = ({ words }: Place) => words.map(([word]) => word).join(' ');

/** `case` patterns of a place: at the first word, or after these. */
const patternOf = ({ path }: Place, first: number) =>
  path.length === 0 ? `${first}:*` : `*:${path[0]}:${path[1] ?? '*'}`;

const bash = (places: Place[]) => `# dibs: completion for bash
_dibs() {
  local words=
  case "$COMP_CWORD:\${COMP_WORDS[1]}:\${COMP_WORDS[2]}" in
${places.map((place) => `    ${patternOf(place, 1)}) words="${wordsOf(place)}" ;;`).join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _dibs dibs
`;

const zsh = (places: Place[]) => `#compdef dibs
_dibs() {
  case "$CURRENT:\${words[2]}:\${words[3]}" in
${places.map((place) => `    ${patternOf(place, 2)}) compadd -- ${wordsOf(place)} ;;`).join('\n')}
  esac
  _files
}
if [ "\${funcstack[1]}" = _dibs ]; then _dibs "$@"; else compdef _dibs dibs; fi
`;

const quoted = (text: string) => `'${text.replaceAll(/['\\]/g, (char) => `\\${char}`)}'`;

/** fish shows what each word does. */
function fish(places: Place[]): string {
  const below = (path: string[]) =>
    places
      .filter((place) => place.path.length === 2 && place.path[0] === path[0])
      .map(({ path: [, name] }) => name);
  const lines = places.flatMap((place) => {
    const { path, words } = place;
    const seen = path.map((name) => `__fish_seen_subcommand_from ${name}`);
    const others = path.length === 1 ? below(path) : [];
    if (others.length > 0) seen.push(`not __fish_seen_subcommand_from ${others.join(' ')}`);
    const when = path.length === 0 ? '__fish_use_subcommand' : seen.join('; and ');
    return words.map(([word, summary]) => {
      const what = word.startsWith('--') ? `-l ${word.slice(2)}` : `-a ${word}`;
      return `complete -c dibs -n ${quoted(when)} ${what}${summary ? ` -d ${quoted(summary)}` : ''}`;
    });
  });
  return `# dibs: completion for fish\n${lines.join('\n')}\n`;
}

const SHELLS: Record<string, (places: Place[]) => string> = { bash, zsh, fish };

const completion =
  (whole: () => Promise<Command>) =>
  async (session: Session, _options: object, shell: string): Promise<undefined> => {
    const script = SHELLS[shell];
    if (!script) throw new UsageError(`There is completion for bash, zsh and fish, not for "${shell}".`);
    session.out(shownLines(script(placesOf(await whole()))));
  };

export function add({ program, act, whole }: Cli): void {
  examples(
    program
      .command('completion <shell>')
      .summary('print a script that completes command lines')
      .description('Prints a script that completes command lines, for bash, zsh or fish.')
      .action(act(completion(whole))),
    'source <(dibs completion bash)                             # in ~/.bashrc',
    'dibs completion zsh > ~/.zsh/completions/_dibs               # a folder of your fpath',
    'dibs completion fish > ~/.config/fish/completions/dibs.fish',
  );
}
