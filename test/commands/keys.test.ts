import { afterAll, beforeAll, expect, test } from 'vitest';
import { areKeysRemote } from '../../commands/local.ts';
import { cliAt } from '../support/cli.ts';
import { type Service, startService } from '../support/service.ts';

let service: Service;
let dibs: ReturnType<typeof cliAt>;
beforeAll(async () => {
  service = await startService();
  dibs = cliAt(await service.listen());
});
afterAll(() => service.stop());

test('keys and audit at a running Dibs: create prints the key alone, revoke and a rotation without overlap ask, the audit tells', async () => {
  const root = (await dibs(['keys', 'create', 'root', '--scope', 'admin'])).stdout.trim();
  expect(root).toMatch(/^dibs_\S+$/);
  expect(await dibs(['keys', 'list'])).toMatchObject({
    status: 1,
    stderr: expect.stringContaining('unauthorized'),
  });

  const env = { DIBS_KEY: root };
  const ok = async (...args: string[]) => {
    const ran = await dibs(args, { env });
    expect(ran, args.join(' ')).toMatchObject({ status: 0, stderr: '' });
    return ran.stdout.trimEnd();
  };
  const create = ['keys', 'create', 'mailer', '--scope', 'produce', '--scope', 'read', '--queue', 'mail.*'];
  const made = JSON.parse(await ok(...create, '--expires-in-seconds', '3600', '--json'));
  expect(made).toMatchObject({ name: 'mailer', scopes: ['produce', 'read'], queues: ['mail.*'] });
  expect(await ok('keys', 'list')).toMatch(
    new RegExp(`^mailer +${made.id} +produce,read +mail\\.\\* +never +ends in \\d+ min$`, 'm'),
  );
  const mailer = { DIBS_KEY: made.key };
  expect((await dibs(['enqueue', 'mail.a', '1'], { env: mailer })).status).toBe(0);

  const next = await ok('keys', 'rotate', 'mailer');
  expect(next).toMatch(/^dibs_/);
  expect(next).not.toBe(made.key);
  for (const args of [
    ['keys', 'rotate', 'mailer', '--overlap-seconds', '0'],
    ['keys', 'revoke', made.id],
  ])
    expect(await dibs(args, { env })).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('add --yes'),
    });
  const asked = await dibs(['keys', 'revoke', 'mailer'], { env, types: 'y\n' });
  expect(asked.stderr).toContain('This revokes access key "mailer"');
  expect(asked).toMatchObject({ status: 0, stdout: `Revoked the access key ${made.id}.\n` });
  expect(await dibs(['enqueue', 'mail.a', '1'], { env: { DIBS_KEY: next } })).toMatchObject({ status: 1 });

  expect(await ok('audit', '--actor', 'root', '--verb', 'revokeKey')).toMatch(
    new RegExp(`^AT .*\\n\\S+ +root +revokeKey +done .*${made.id}$`),
  );
  expect(JSON.parse(await ok('audit', '--json')).entries.length).toBeGreaterThan(2);
  expect(await ok('audit', '--queue', 'nowhere')).toBe('Nothing matches.');
  for (const [args, said] of [
    [['keys', 'create', 'x'], 'needs a --scope'],
    [['keys', 'create', 'x', '--scope', 'all'], 'There is no scope "all"'],
    [['keys', 'revoke', 'nobody', '--yes'], 'There is no access key "nobody"'],
  ] as [string[], string][])
    expect(await dibs(args, { env })).toMatchObject({ status: 2, stderr: expect.stringContaining(said) });
});

test('`dibs keys` works in a database where one is named, else at the Dibs that is named, else in the embedded database', () => {
  const none = { DIBS_CONFIG: '/nonexistent' };
  const DIBS_URL = 'http://dibs.example';
  expect(areKeysRemote(['list'], none)).toBe(false);
  expect(areKeysRemote(['list'], { ...none, DIBS_URL })).toBe(true);
  expect(areKeysRemote(['list'], { ...none, DIBS_CONTEXT: 'prod' })).toBe(true);
  expect(areKeysRemote(['list'], { ...none, DIBS_URL, DATABASE_URL: 'postgres://db' })).toBe(false);
  expect(areKeysRemote(['list'], { ...none, DIBS_URL, DATA_DIR: './data' })).toBe(false);
  expect(areKeysRemote(['list', '--context', 'prod'], { ...none, DATABASE_URL: 'postgres://db' })).toBe(true);
  expect(areKeysRemote(['create', '--print-only'], { ...none, DIBS_URL })).toBe(false);
});
