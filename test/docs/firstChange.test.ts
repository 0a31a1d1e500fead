import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { sectionOf } from '../support/pageFiles.ts';
import { ROOT } from '../support/sources.ts';

const TEN_MINUTES = 600_000;

/** The steps of "A first change". */
const [, ...steps] = sectionOf('CONTRIBUTING.md', 'A first change').split(/^(?=\d+\. )/m);

/** What a step changes: each block is a diff of the file that the step names last before it. */
const changesOf = (step: string) =>
  [
    ...step.matchAll(/`((?:routes|test)\/[\w/.]+\.ts)`(?:(?!`(?:routes|test)\/|```).)*```diff\n(.*?)```/gs),
  ].map(([, file, block]) => {
    const lines = (block as string).split('\n').map((line) => line.replace(/^ {3}/, ''));
    const textOf = (sign: string) =>
      lines.filter((line) => line !== '' && line[0] !== sign).map((line) => `${line.slice(1)}\n`);
    return { file: file as string, before: textOf('+').join(''), after: textOf('-').join('') };
  });

let clone: string;
/** Runs a command in the clone. Returns what it printed. Rejects where it fails. */
const run = async (command: string, ...args: string[]) =>
  (await promisify(execFile)(command, args, { cwd: clone, maxBuffer: 2 ** 26 })).stdout;

function change(step: string): string[] {
  return changesOf(step).map(({ file, before, after }) => {
    const text = readFileSync(join(clone, file), 'utf8');
    expect(text.split(before), `${file} has this once:\n${before}`).toHaveLength(2);
    writeFileSync(
      join(clone, file),
      text.replace(before, () => after),
    );
    return file;
  });
}

beforeAll(async () => {
  clone = mkdtempSync(join(tmpdir(), 'dibs-first-change-'));
  const { stdout } = await promisify(execFile)('git', ['ls-files', '-z'], { cwd: ROOT });
  for (const file of stdout.split('\0').filter(Boolean)) cpSync(join(ROOT, file), join(clone, file));
  symlinkSync(join(ROOT, 'node_modules'), join(clone, 'node_modules'));
});
afterAll(() => rmSync(clone, { recursive: true, force: true }));

test(
  'the first change of CONTRIBUTING.md can be made as it stands there',
  async () => {
    const greps = steps.flatMap((step) =>
      [...step.matchAll(/`grep (-\w+) "(.*?)" (\w+)`/g)].map((match) => ({
        step,
        args: match.slice(1) as string[],
      })),
    );
    expect(greps).toHaveLength(2);
    const found: string[] = [];
    for (const { step, args } of greps) {
      const named = /`((?:routes|test)\/[\w/.]+\.ts)`/.exec(step)?.[1];
      found.push(
        ...(await run('grep', ...args))
          .trim()
          .split('\n')
          .map((line) => line.split(':')[0] as string),
      );
      expect(found).toContain(named);
    }
    const tests = found.filter((file) => file.endsWith('.test.ts'));
    const passes = (files: string[]) => run('npx', 'vitest', 'run', '-t', '/version', ...files);

    const [, ofTest = '', , ofSchema = '', ofRoute = ''] = steps;
    const changed = change(ofTest);
    expect(changed).toHaveLength(1);
    await expect(passes(changed)).rejects.toThrow();

    changed.push(...change(ofSchema), ...change(ofRoute));
    expect(changed.slice(1)).toEqual(['routes/schemas/health.ts', 'routes/system.ts']);
    await run('npx', 'biome', 'check', ...changed);
    await run('npm', 'run', 'build');
    await passes(tests);
  },
  TEN_MINUTES,
);
