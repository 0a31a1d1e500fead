import { spawnSync } from 'node:child_process';
import type { Command } from 'commander';
import { expect, test } from 'vitest';
import { LOCAL } from '../../commands/local.ts';
import { wholeCli } from '../../commands/remote/remote.ts';
import { ownTerminal } from '../../commands/remote/terminal.ts';
import { cliAt } from '../support/cli.ts';

/** Each command with all of its sub-commands, as words. */
const wordsOf = (command: Command, before: string[] = []): string[][] =>
  command.commands.flatMap((each) => {
    const words = [...before, each.name()];
    return [words, ...wordsOf(each, words)];
  });

const KEYS = ['create', 'list', 'rotate', 'revoke'];

test.each([
  ...Object.keys(LOCAL).map((name) => [name]),
  ...KEYS.map((command) => ['keys', command]),
  ['keys', 'create', 'mailer', '--scope', 'read'],
  ['work', 'mail', '--concurrency', '2'],
  ['import', 'jobs.dibs', '--create'],
])('--help tells what a command at a database takes: dibs %s %s', (...words) => {
  const { status, stdout, stderr } = spawnSync(process.execPath, ['dist/main.js', ...words, '--help'], {
    encoding: 'utf8',
    env: { ...process.env, DIBS_CONFIG: '/nowhere', DIBS_URL: '', DATABASE_URL: '' },
  });
  expect({ status, stdout, stderr }).toEqual({
    status: 0,
    stdout: '',
    stderr: expect.stringMatching(new RegExp(`^Usage: dibs ${words[0]}\\b`)),
  });
});

test('--help behind -- is for the program that dibs work runs', () => {
  const { status, stderr } = spawnSync(
    process.execPath,
    ['dist/main.js', 'work', '--concurrency', '0', 'mail', '--', 'true', '--help'],
    { encoding: 'utf8' },
  );
  expect({ status, stderr }).toEqual({ status: 2, stderr: expect.stringContaining('--concurrency must be') });
});

test('--help of each command at a running Dibs, and of each of its sub-commands, tells what it takes', async () => {
  const dibs = cliAt('http://127.0.0.1:1');
  const commands = wordsOf(await wholeCli(ownTerminal({})));
  expect(commands.length).toBeGreaterThan(40);
  for (const words of commands) {
    const ran = await dibs([...words, '--help']);
    expect({ words, ...ran }).toEqual({
      words,
      status: 0,
      stderr: '',
      stdout: expect.stringContaining(`Usage: dibs ${words.join(' ')}`),
    });
  }
});
