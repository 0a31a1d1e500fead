import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';

test('a file whose hook failed counts as failed, and the last lines say what happened', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tally-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const skipped = { fullName: 'a test', status: 'skipped' };
  const file = { name: 'a.test.ts', status: 'failed', message: 'no server', assertionResults: [skipped] };
  const report = { numPassedTests: 3, numFailedTests: 0, numPendingTests: 1, testResults: [file] };
  writeFileSync(join(folder, 'all.json'), JSON.stringify(report));
  writeFileSync(join(folder, 'all.status'), '1');
  writeFileSync(
    join(folder, 'all.log'),
    '⎯⎯ Failed Suites 1 ⎯⎯\n\n FAIL  a.test.ts\nError: no server\n\n⎯⎯⎯⎯\n',
  );
  const { stdout } = await promisify(execFile)(process.execPath, ['scripts/tally.mjs', folder]);
  expect(stdout).toContain('\nError: no server\n');
  expect(stdout).toContain(
    'failed outside of its tests: a.test.ts: no server\n1 skipped\n3 passed, 1 failed\n',
  );
});
