import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';

const run = promisify(execFile);

interface File {
  name: string;
  status: 'passed' | 'failed';
  message?: string;
  assertionResults: { fullName: string; status: string }[];
}
interface Part {
  status: string;
  testResults: File[];
  log?: string;
}

/** A folder with what these parts left. */
function leftBy(parts: Record<string, Part>): string {
  const folder = mkdtempSync(join(tmpdir(), 'tally-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const [name, { status, testResults, log = '' }] of Object.entries(parts)) {
    writeFileSync(join(folder, `${name}.json`), JSON.stringify({ testResults }));
    writeFileSync(join(folder, `${name}.status`), status);
    writeFileSync(join(folder, `${name}.log`), log);
  }
  return folder;
}

const file = (name: string, verdicts: Record<string, string>): File => ({
  name,
  status: Object.values(verdicts).includes('failed') ? 'failed' : 'passed',
  assertionResults: Object.entries(verdicts).map(([fullName, status]) => ({ fullName, status })),
});

async function tallyOf(parts: Record<string, Part>): Promise<string> {
  return (await run(process.execPath, ['scripts/tally.mjs', leftBy(parts)])).stdout;
}

async function failedFilesOf(part: Part): Promise<string> {
  const folder = leftBy({ all: part });
  const { stdout } = await run(process.execPath, [
    'scripts/failed-files.mjs',
    join(folder, 'all.json'),
    join(folder, 'all.log'),
  ]);
  return stdout;
}

test('a file whose hook failed counts as failed, and the last lines say what happened', async () => {
  const broken: File = { ...file('a.test.ts', { one: 'skipped' }), status: 'failed', message: 'no server' };
  const tally = await tallyOf({
    all: {
      status: '1',
      testResults: [broken, file('b.test.ts', { one: 'passed', two: 'passed' })],
      log: '⎯⎯ Failed Suites 1 ⎯⎯\n\n FAIL  a.test.ts\nError: no server\n\n⎯⎯⎯⎯\n',
    },
  });
  expect(tally).toContain('\nError: no server\n');
  expect(tally).toContain(
    'failed: a.test.ts: outside of its tests: no server\n1 skipped\n2 passed, 1 failed\n',
  );
});

test('a test that failed beside others and passed alone counts as passed, and is named', async () => {
  const tally = await tallyOf({
    all: {
      status: '1',
      testResults: [
        file('a.test.ts', { one: 'failed', two: 'failed' }),
        file('b.test.ts', { one: 'passed' }),
      ],
    },
    'all.again': { status: '1', testResults: [file('a.test.ts', { one: 'passed', two: 'failed' })] },
  });
  expect(tally).toBe(
    [
      'The part "all.again" ended with status 1.',
      'failed beside others, and passed alone: a.test.ts: one',
      'failed: a.test.ts: two',
      '2 passed, 1 failed',
      '',
    ].join('\n'),
  );
});

test('only a few failed files run again, and none after an error outside of all files', async () => {
  const files = (count: number) =>
    Array.from({ length: count }, (_, i) => file(`${process.cwd()}/${i}.test.ts`, { one: 'failed' }));
  const testResults = [...files(2), file('passed.test.ts', { one: 'passed' })];
  expect(await failedFilesOf({ status: '1', testResults })).toBe('0.test.ts\n1.test.ts\n');
  expect(await failedFilesOf({ status: '1', testResults: files(9) })).toBe('');
  expect(await failedFilesOf({ status: '1', testResults, log: '⎯⎯ Unhandled Errors ⎯⎯' })).toBe('');
});
