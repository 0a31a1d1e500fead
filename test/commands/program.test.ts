import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, test } from 'vitest';

/** A worker whose last command leaves a process behind, and that ends as soon as the command has. */
const WORKER = `
  import { killAll, runProgram } from './dist/commands/program.js';
  process.on('exit', killAll);
  const { signal } = new AbortController();
  const { code } = await runProgram(['sh', '-c', 'sleep 600 2> /dev/null & exit 7'], {
    ...{ input: '', env: process.env, signal, isResult: false },
  });
  process.exit(code);
`;

test('what the last command left behind ends with the worker', async () => {
  const worker = spawn(process.execPath, ['--input-type=module', '--eval', WORKER], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  // Its standard output is closed when nobody holds it any more.
  const [code] = await once(
    worker.on('error', () => undefined),
    'close',
  );
  expect(code).toBe(7);
});
