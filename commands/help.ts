import { LOCAL } from './local.ts';
import { wholeCli } from './remote/remote.ts';
import { ownTerminal } from './remote/terminal.ts';

const listed = (commands: [name: string, summary: string][]) =>
  commands.map(([name, summary]) => `  ${name.padEnd(12)}${summary}\n`).join('');

/** What `dibs help` says. */
export async function usageText(): Promise<string> {
  const program = await wholeCli(ownTerminal({}));
  return `Usage: dibs <command>

${listed(Object.entries(LOCAL).map(([name, { summary }]) => [name, summary]))}
At the Dibs of \`dibs context\`, or of DIBS_URL and DIBS_KEY or DIBS_KEY_FILE:

${listed(program.commands.map((command) => [command.name(), command.summary()]))}
  --version   print the version
  help        \`dibs help jobs\` tells all of a command, with an example
`;
}
