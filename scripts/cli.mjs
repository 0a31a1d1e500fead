// Writes docs/cli.md from what the commands say of themselves. With --check, it only fails if that is stale.

import { LOCAL } from '../dist/commands/local.js';
import { wholeCli } from '../dist/commands/remote/remote.js';
import { writeCurrent } from './current.mjs';

let said = '';
const screen = {
  write: (text) => {
    said += text;
  },
  columns: 110,
};
const program = await wholeCli({ stdin: process.stdin, stdout: screen, stderr: screen, env: {} });

/** What each command has. The page tells it once. */
const SHARED = / {2}-h, --help.*\n|Global Options:\n( {2}.*\n)+\n/g;

function helpOf(command) {
  said = '';
  command.outputHelp();
  const pathOf = (one) => (one.parent ? [...pathOf(one.parent), one.name()] : [one.name()]);
  const own = `### ${pathOf(command).join(' ')}\n\n\`\`\`text\n${said.replace(SHARED, '').trimEnd()}\n\`\`\`\n`;
  return [own, ...command.commands.map(helpOf)].join('\n');
}

const local = Object.entries(LOCAL).map(([name, { summary }]) => `| \`dibs ${name}\` | ${summary} |`);

writeCurrent(
  'docs/cli.md',
  `# The command line

\`npm run generate\` writes this page from what the commands say of themselves. \`dibs help jobs\` and \`dibs jobs --help\`
say it, too.

\`\`\`bash
dibs context set prod --url https://dibs.example.com --key-file ./key   # once; or DIBS_URL and DIBS_KEY
dibs top                                                                # what is wrong?
dibs jobs --queue mail --state dead                                     # which jobs?
dibs history 01a1f5c2-77aa-7000-8000-0000000000c1                       # what happened?
dibs retry --queue mail --error-contains "SMTP 421"                     # counts them, asks, and mends them
\`\`\`

- **Which Dibs?** \`--context\` or \`DIBS_CONTEXT\`; else \`DIBS_URL\` with \`DIBS_KEY\` or \`DIBS_KEY_FILE\`; else the
  context in use; else \`http://127.0.0.1:8080\`. The key of one never goes to the address of another.
- **People get tables, programs get JSON.** \`--json\` prints the answer of the API as it came, with every digit. A list
  with \`--all\` prints each page on a line of its own. Without a terminal, tables are not cut and have no colours.
  \`NO_COLOR\` takes the colours away on a terminal, too.
- **What destroys asks first**: purge, delete, move, the cancel of a batch, and retry and cancel by a filter. They say
  to how many jobs they will do it. \`--yes\` answers before. Where there is no terminal, nothing happens without
  \`--yes\`.
- **Text from jobs is shown, never obeyed.** Control characters in a payload or an error appear as \`\\u001b\`.

## Exit status

| Status | Means |
|---|---|
| 0 | It is done. |
| 1 | Dibs refused, the thing is not there, an operation failed, a batch ended with jobs that are dead or cancelled, or the question was answered with no. |
| 2 | The command line or a file is wrong, or somebody must say \`--yes\`. Nothing was done. From \`dibs diff\`: something differs; it ends with 1 for what is wrong. |
| 3 | No answer, or "later": Dibs is away, overloaded, or the queue is full (429, 5xx). The same command may work in a moment. |
| 4 | \`dibs claim\` found no job. |

## Completion

\`\`\`bash
source <(dibs completion bash)                                  # in ~/.bashrc
dibs completion zsh > ~/.zsh/completions/_dibs                  # a folder of your fpath
dibs completion fish > ~/.config/fish/completions/dibs.fish
\`\`\`

## Commands at a database

Each tells more with \`--help\`. \`dibs work\` is in [workers.md](workers.md), the others are in
[operating.md](operating.md).

| Command | What it does |
|---|---|
${local.join('\n')}

## Commands at a running Dibs

Each also takes \`--json\`, \`--context <name>\` and \`--help\`.

${program.commands.map(helpOf).join('\n')}`,
);
