/** What can stand after a command. */
export interface Place {
  path: string[];
  /** Words of its own, each in a few others. */
  words: [word: string, summary: string][];
  /** What `dibs completion` lists, besides. */
  takes?: string | undefined;
}

/** Options whose value can be listed. */
const OPTIONS: [option: string, takes: string][] = [
  ['--queue', 'queues'],
  ['--context', 'contexts'],
];

const wordsOf = ({ words }: Place) => words.map(([word]) => word).join(' ');

/** `case` patterns of a place: at the first word, or after these. */
const patternOf = ({ path }: Place, first: number) =>
  path.length === 0 ? `${first}:*` : `*:${path[0]}:${path[1] ?? '*'}`;

/** The cases in which bash and zsh set `words` and `takes`. */
const cases = (places: Place[], first: number) => `  case "$before" in
${OPTIONS.map(([option, takes]) => `    ${option}) takes=${takes} ;;`).join('\n')}
    *) case "$at" in
${places.map((place) => `      ${patternOf(place, first)}) words="${wordsOf(place)}" takes=${place.takes ?? ''} ;;`).join('\n')}
    esac ;;
  esac`;

const bash = (places: Place[]) => `# dibs: completion for bash
_dibs() {
  local words= takes= context= i
  local now="\${COMP_WORDS[COMP_CWORD]}" before="\${COMP_WORDS[COMP_CWORD - 1]}"
  local at="$COMP_CWORD:\${COMP_WORDS[1]}:\${COMP_WORDS[2]}"
${cases(places, 1)}
  for ((i = 1; i < COMP_CWORD - 1; i++)); do
    [ "\${COMP_WORDS[i]}" = --context ] && context="\${COMP_WORDS[i + 1]}"
  done
  if [ -n "$takes" ] && [[ "$now" != -* ]]; then
    words="$words $(dibs completion "$takes" \${context:+--context "$context"} 2> /dev/null)"
  fi
  COMPREPLY=($(compgen -W "$words" -- "$now"))
}
complete -o default -F _dibs dibs
`;

const zsh = (places: Place[]) => `#compdef dibs
_dibs() {
  local words_= takes= context= found= i
  local before="\${words[CURRENT - 1]}" at="$CURRENT:\${words[2]}:\${words[3]}"
${cases(places, 2).replaceAll(' words="', ' words_="')}
  for ((i = 2; i < CURRENT - 1; i++)); do
    [ "\${words[i]}" = --context ] && context="\${words[i + 1]}"
  done
  [ -n "$words_" ] && compadd -- \${=words_} && found=1
  if [ -n "$takes" ] && [[ "\${words[CURRENT]}" != -* ]]; then
    compadd -- \${(f)"$(dibs completion "$takes" \${context:+--context} \${context:+"$context"} 2> /dev/null)"} && found=1
  fi
  [ -z "$found" ] && _files
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
  const lines = places.flatMap(({ path, words, takes }) => {
    const seen = path.map((name) => `__fish_seen_subcommand_from ${name}`);
    const others = path.length === 1 ? below(path) : [];
    if (others.length > 0) seen.push(`not __fish_seen_subcommand_from ${others.join(' ')}`);
    const when = path.length === 0 ? '__fish_use_subcommand' : seen.join('; and ');
    const own = words.map(([word, summary]) => {
      const what = word.startsWith('--') ? `-l ${word.slice(2)}` : `-a ${word}`;
      const [, listed] = OPTIONS.find(([option]) => option === word) ?? [];
      const values = listed ? ` -x -a '(dibs completion ${listed} 2> /dev/null)'` : '';
      return `complete -c dibs -n ${quoted(when)} ${what}${values}${summary ? ` -d ${quoted(summary)}` : ''}`;
    });
    const listed = `complete -c dibs -n ${quoted(when)} -f -a '(dibs completion ${takes} 2> /dev/null)'`;
    return takes ? [...own, listed] : own;
  });
  return `# dibs: completion for fish\n${lines.join('\n')}\n`;
}

export const SHELLS: Record<string, (places: Place[]) => string> = { bash, zsh, fish };
