// Writes docs/configuration.md from what the configuration says of its variables. With --check, it only fails if that is stale.

import { SECTIONS } from '../dist/src/config/settings/all.js';
import { writeCurrent } from './current.mjs';

const inCell = (text) => text.replaceAll('*', '\\*');

function valuesOf(setting) {
  if (setting.kind === 'integer') return `${setting.least} to ${setting.most} ${setting.unit}`.trimEnd();
  if (setting.kind === 'choice') return setting.values.map((value) => `\`${value}\``).join(', ');
  if (setting.kind === 'list') return `${inCell(setting.items)}, separated by commas`;
  return setting.is;
}

const hasDefault = (setting) => setting.default !== undefined && setting.default !== '';

const rowOf = ([name, setting]) =>
  `| \`${name}\` | ${hasDefault(setting) ? `\`${setting.default}\`` : ''} | ${valuesOf(setting)} | ${setting.about} |`;

const sections = SECTIONS.map(
  ({ title, settings }) => `## ${title}

| Variable | Default | Values | |
|---|---|---|---|
${Object.entries(settings).map(rowOf).join('\n')}
`,
);

writeCurrent(
  'docs/configuration.md',
  `# Configuration

The environment configures \`dibs serve\`, and each command that works at the database. \`npm run generate\` writes this
page from the descriptions in \`src/config/settings\`.

- An empty variable counts as none.
- A bad value stops the start, with one line for each variable that names it and says what it may be.
- Dibs reads no file of its own. A \`.env\` file is read by \`node --env-file=.env dist/main.js serve\`.
- The command line and \`dibs work\` find a running Dibs by other variables: [cli.md](cli.md), [workers.md](workers.md).

${sections.join('\n')}`,
);
