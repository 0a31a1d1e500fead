// Puts the results of a run of the conformance suite into the table of docs/conformance.md.
//   node scripts/conformance.mjs [results.jsonl ...]

import { readFileSync, writeFileSync } from 'node:fs';

const PAGE = 'docs/conformance.md';
const BEGIN = '<!-- conformance: written by scripts/conformance.mjs -->\n';
const END = '<!-- /conformance -->';
const LIBRARIES = ['TypeScript', 'dibs work', 'Python', 'Python asyncio', 'Go'];
const SIGNS = { kept: 'yes', broken: '**no**', 'not applicable': '–' };

const files = process.argv.slice(2);
if (files.length === 0) files.push('clients/conformance/.work/results.jsonl');
const rows = new Map();
for (const line of files.flatMap((file) => readFileSync(file, 'utf8').trim().split('\n'))) {
  const { library, promise, verdict } = JSON.parse(line);
  if (!rows.has(promise)) rows.set(promise, {});
  rows.get(promise)[library] = SIGNS[verdict];
}

const table = [
  ['Promise', ...LIBRARIES],
  ['---', ...LIBRARIES.map(() => '---')],
  ...[...rows].map(([promise, verdicts]) => [
    promise,
    ...LIBRARIES.map((library) => verdicts[library] ?? 'not played'),
  ]),
].map((cells) => `| ${cells.join(' | ')} |`);

const page = readFileSync(PAGE, 'utf8');
const [before, rest] = page.split(BEGIN);
const after = rest.slice(rest.indexOf(END));
writeFileSync(PAGE, `${before}${BEGIN}\n${rows.size} promises.\n\n${table.join('\n')}\n\n${after}`);
