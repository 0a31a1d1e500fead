import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const dibs = (...args: string[]) => {
  const { status, stdout, stderr } = spawnSync(process.execPath, ['dist/main.js', ...args], {
    encoding: 'utf8',
  });
  return { status, stdout, stderr };
};

test('dibs --version prints the version of the package', () => {
  const { version } = JSON.parse(readFileSync('package.json', 'utf8'));
  expect(dibs('--version')).toEqual({ status: 0, stdout: `${version}\n`, stderr: '' });
});

test('dibs --help tells the commands, and an unknown command says where to find them, with status 2', () => {
  const { status, stderr } = dibs('--help');
  expect(status).toBe(0);
  for (const command of ['serve', 'migrate', '--version']) expect(stderr).toContain(command);
  expect(dibs('nonsense')).toEqual({
    status: 2,
    stdout: '',
    stderr: "dibs: unknown command 'nonsense'\n`dibs help` lists them.\n",
  });
});
