import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { parseGrants } from '../../src/access/tokenGrants.ts';
import { textOf } from '../support/sources.ts';

test('examples/kubernetes: pods work with the tokens of their service accounts, over a change of the signing key', async () => {
  const { stdout } = await promisify(execFile)('node', ['examples/kubernetes/run.mjs', '60']);
  expect(stdout).toContain('the cluster signs with a new key');
  expect(stdout).toContain('60 jobs done, each once: yes');
  expect(stdout).toMatch(/the shop wants to pay: .* 403 This access key may not use the queue/);
  expect(stdout).toMatch(/a token for another service: .* 401 /);
}, 120_000);

test('examples/kubernetes/dibs.yaml has grants that Dibs can read', () => {
  const yaml = textOf('examples/kubernetes/dibs.yaml');
  const grants = /grants\.json: \|\n((?: {4}.*\n)+)/.exec(yaml)?.[1] as string;
  expect(parseGrants(grants).map(({ subject }) => subject)).toContain('system:serviceaccount:shop:web');
});
