import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

test('the unit tests in Python', async () => {
  const tests = ['-m', 'unittest', 'discover', '-s', 'clients/python/tests'];
  const env = {
    ...process.env,
    PYTHONPATH: 'clients/python/src:clients/python',
    PYTHONDONTWRITEBYTECODE: '1',
  };
  const { stderr } = await promisify(execFile)('python3', tests, { env });
  expect(stderr).toMatch(/Ran [1-9]\d* tests[\s\S]*\nOK/);
}, 400_000);
