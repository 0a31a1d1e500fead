import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { answered } from '../support/answered.ts';

test.each([
  ['exit 3 #', 'nothing was changed'],
  ['rm', 'cannot be read'],
])('an editor that fails leaves nothing of the payload behind: %s', async (EDITOR, why) => {
  const folder = mkdtempSync(join(tmpdir(), 'dibs-edited-'));
  vi.stubEnv('TMPDIR', folder);
  onTestFinished(() => {
    vi.unstubAllEnvs();
    rmSync(folder, { recursive: true });
  });
  const { dibs } = await answered('{"id":"a","payload_text":"1","headers":{}}');
  const ran = await dibs(['edit', 'a'], { env: { PATH: process.env.PATH, EDITOR } });
  expect(ran).toMatchObject({
    status: 2,
    stdout: '',
    stderr: expect.stringContaining(why),
  });
  expect(readdirSync(folder)).toEqual([]);
});
