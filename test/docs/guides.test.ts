import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { sectionOf } from '../support/pageFiles.ts';
import { ROOT, textOf } from '../support/sources.ts';

const pages = ['README.md', ...readdirSync(`${ROOT}docs`).map((file) => `docs/${file}`)].filter((file) =>
  file.endsWith('.md'),
);

test('each page says what `$DIBS`, `$ID`, `$TOKEN` and `$KEY` are that its examples use', () => {
  const unsaid = pages.flatMap((page) => {
    const text = textOf(page);
    const code = [...text.matchAll(/^```\w*\n.*?^```/gms)].join('\n');
    return ['DIBS', 'ID', 'TOKEN', 'KEY']
      .filter((name) => new RegExp(`\\$\\{?${name}\\b`).test(code))
      .filter((name) => !new RegExp(`^ *${name}=`, 'm').test(code) && !text.includes(`\`$${name}\``))
      .map((name) => `${page}: $${name}`);
  });
  expect(unsaid).toEqual([]);
});

test('the tour says how to go on with a key, and how to start over', () => {
  const end = sectionOf('docs/tour.md', 'Who may do what');
  for (const said of ['export DIBS_KEY=$ADMIN', '`rm -rf data`']) expect(end).toContain(said);
});

test('no producer of the quick starts has a key that a second run sends again', () => {
  expect(textOf('docs/quickstarts.md').match(/idempotency-key: [\w-]+\\r/gi)).toBeNull();
});

test('the promises of the libraries are a page of their own, which scripts/conformance.mjs writes', () => {
  expect(textOf('docs/workers.md')).not.toContain('| yes | yes |');
  const folder = mkdtempSync(join(tmpdir(), 'dibs-conformance-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  mkdirSync(join(folder, 'docs'));
  const before = textOf('docs/conformance.md');
  writeFileSync(join(folder, 'docs/conformance.md'), before);
  writeFileSync(join(folder, 'results'), '{"library":"Go","promise":"it works","verdict":"kept"}\n');
  const script = `${ROOT}scripts/conformance.mjs`;
  expect(spawnSync(process.execPath, [script, 'results'], { cwd: folder }).status).toBe(0);
  const after = readFileSync(join(folder, 'docs/conformance.md'), 'utf8');
  expect(after).toContain('| it works | not played | not played | not played | not played | yes |');
  const head = (text: string) => text.split('<!--')[0];
  expect(head(after)).toBe(head(before));
});
