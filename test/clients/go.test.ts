import { execFile, spawnSync } from 'node:child_process';
import { promisify } from 'node:util';
import { test } from 'vitest';

const has = (program: string, ...args: string[]) => spawnSync(program, args).status === 0;
const hasGo = has('go', 'version');
// The race detector needs a C compiler.
const race = has('cc', '--version') ? ['-race'] : [];
const go = (...args: string[]) => promisify(execFile)('go', args, { cwd: 'clients/go' });

test.skipIf(!hasGo)(
  `the library in Go, by its own tests${hasGo ? '' : ' (skipped: no go on this machine)'}`,
  async () => {
    await go('vet', './...');
    await go('test', ...race, './...').catch(({ stdout, stderr }) => {
      throw new Error(`${stdout}\n${stderr}`);
    });
  },
  600_000,
);
