import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const FOLDER = 'clients/python/tests';
/** Many processes at work. The others measure times, so nothing runs beside it. */
const BUSY = 'test_forking.py';
const files = readdirSync(FOLDER).filter((file) => /^test_.*\.py$/.test(file));
/** The tests mostly wait. */
const PARTS = 6;

async function passes(part: number, parts: number, ...some: string[]): Promise<void> {
  const env = {
    ...process.env,
    PYTHONPATH: 'clients/python/src:clients/python',
    PYTHONDONTWRITEBYTECODE: '1',
  };
  const args = [`${FOLDER}/part.py`, String(part), String(parts), ...some];
  const { stderr } = await promisify(execFile)('python3', args, { env });
  expect(stderr).toMatch(/Ran [1-9]\d* tests[\s\S]*\nOK/);
}

test('the unit tests in Python', async () => {
  await passes(0, 1, BUSY);
  const others = files.filter((file) => file !== BUSY);
  await Promise.all(Array.from({ length: PARTS }, (_, part) => passes(part, PARTS, ...others)));
}, 400_000);
