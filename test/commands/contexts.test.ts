import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { fileOf, targetOf } from '../../commands/remote/contexts.ts';
import { cliAt } from '../support/cli.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'dibs-contexts-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

test('a variable that is empty is as if it were not set', () => {
  expect(fileOf({ HOME: '/h', XDG_CONFIG_HOME: '', DIBS_CONFIG: '' })).toBe('/h/.config/dibs/config.json');
  expect(fileOf({ HOME: '' })).toMatch(/^\//);
  expect(targetOf({ DIBS_CONTEXT: '', DIBS_CONFIG: join(folder, 'none') })).toEqual({});
});

test.each([
  ['', 'has no key'],
  ['two words', 'printable ASCII'],
])('a context is not set with a key file that has %j, and the key is not shown', async (text, why) => {
  const keyFile = join(folder, 'key');
  writeFileSync(keyFile, `${text}\n`);
  const DIBS_CONFIG = join(folder, 'config.json');
  const set = ['context', 'set', 'prod', '--url', 'http://127.0.0.1:9', '--key-file'];
  const dibs = cliAt('', { DIBS_URL: undefined, DIBS_CONFIG });
  const ran = await dibs([...set, keyFile]);
  expect(ran).toMatchObject({ status: 2, stdout: '', stderr: expect.stringContaining(why) });
  expect(ran.stderr).not.toContain('two words');
  expect(existsSync(DIBS_CONFIG)).toBe(false);
  writeFileSync(keyFile, 'good\n');
  expect(await dibs([...set, keyFile])).toMatchObject({ status: 0 });
  expect(JSON.parse(readFileSync(DIBS_CONFIG, 'utf8')).contexts.prod.key).toBe('good');
  rmSync(DIBS_CONFIG);
});
