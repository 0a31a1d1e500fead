import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { asRole, onServer } from '../support/database.ts';
import { complaintsIn, http, startReplica } from '../support/replica.ts';
import { type DatabaseWithRoles, databaseWithRoles } from '../support/roles.ts';
import { textOf } from '../support/sources.ts';

let at: DatabaseWithRoles;
beforeAll(async () => {
  at = await databaseWithRoles();
});
afterAll(() => at.drop());

/** Runs dibs to its end. A `dibs serve` that serves would not end. */
function dibs(url: string, ...args: string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, ['dist/main.js', ...args], {
    encoding: 'utf8',
    env: { ...process.env, DATABASE_URL: url, PORT: '0' },
    timeout: 120_000,
  });
  return { status, stdout, stderr };
}

const asOwner = (text: string) => onServer(at.urlAs('owner'), text);

describe('dibs serve as a role that may not migrate', () => {
  test('serves when somebody else has migrated, and tries nothing that it may not', async () => {
    const replica = await startReplica({ DATABASE_URL: at.urlAs('serve') });
    expect((await fetch(`${replica.url}/readyz`)).status).toBe(200);
    await replica.end('SIGTERM');
    expect(complaintsIn(replica.lines)).toEqual([]);
  });

  /** The start fails with one line, which names the command that mends it. */
  function expectRefusal(role: 'serve' | 'nobody' | 'produce', reason: RegExp): void {
    const { status, stderr } = dibs(at.urlAs(role), 'serve');
    expect(stderr).toMatch(/^dibs: [^\n]+\n$/);
    expect(stderr).toMatch(reason);
    expect(stderr).toContain(`Run \`dibs migrate --grant-serve ${at[role]}\` as its owner ${at.owner}.`);
    expect(status).toBe(1);
  }

  test('says that the schema is behind', async () => {
    await asOwner('alter table dibs.migrations rename to kept');
    await asOwner('create table dibs.migrations as select * from dibs.kept where version = 1');
    await asOwner(`grant select on dibs.migrations to ${at.serve}`);
    expectRefusal(
      'serve',
      /The database is at migration 1, this Dibs needs \d+, and the role \w+ may not migrate it/,
    );
    await asOwner('drop table dibs.migrations');
    await asOwner('alter table dibs.kept rename to migrations');
  });

  test('says that functions are missing, but serves with those of another version', async () => {
    await asOwner(`update dibs.functions set name = 'older' where name = 'capacity'`);
    expectRefusal('serve', /lacks functions of this Dibs \(capacity\)/);
    await asOwner(`update dibs.functions set name = 'capacity', checksum = 'older' where name = 'older'`);
    const replica = await startReplica({ DATABASE_URL: at.urlAs('serve') });
    await replica.end('SIGTERM');
  });

  test('says what the role lacks', async () => {
    expectRefusal('nobody', /The role nobody_\w+ may not use the schema dibs/);
    expectRefusal('produce', /The role \w+ lacks what it needs to serve: .*select on table dibs\.jobs/);
    await asOwner(`revoke update on dibs.schedules from ${at.serve}`);
    expectRefusal('serve', /lacks what it needs to serve: update on table dibs\.schedules\./);
    await asOwner(`grant update on dibs.schedules to ${at.serve}`);
  });

  test('says that there is no schema', async () => {
    await asOwner('alter schema dibs rename to away');
    const { status, stderr } = dibs(at.urlAs('serve'), 'serve');
    await asOwner('alter schema away rename to dibs');
    expect(stderr).toMatch(
      /^dibs: The database has no schema dibs, and the role \w+ may not create it\. .*\n$/,
    );
    expect(status).toBe(1);
  });
});

test('/readyz tells a serving role what was revoked from it', async () => {
  const replica = await startReplica({ DATABASE_URL: at.urlAs('serve') });
  await asOwner(`revoke delete on dibs.jobs from ${at.serve}`);
  const answer = await fetch(`${replica.url}/readyz`);
  await asOwner(`grant delete on dibs.jobs to ${at.serve}`);
  expect(answer.status).toBe(503);
  expect(await answer.text()).toContain('lacks what it needs to serve: delete on table dibs.jobs.');
  await replica.end('SIGTERM');
});

test('a privilege that is revoked while a replica serves makes 503, and no bug', async () => {
  const replica = await startReplica({ DATABASE_URL: at.urlAs('serve') });
  await asOwner(`revoke insert on dibs.jobs from ${at.serve}`);
  const refused = await http(replica.url, 'POST', '/jobs', {});
  await asOwner(`grant insert on dibs.jobs to ${at.serve}`);
  expect(refused).toMatchObject({ status: 503, body: { code: 'unavailable', outcome: 'not_done' } });
  expect((await http(replica.url, 'POST', '/jobs', {})).status).toBe(201);
  expect(replica.lines.filter((line) => line.includes('SQLSTATE 42501'))).toHaveLength(1);
  await replica.end('SIGTERM');
});

describe('dibs migrate', () => {
  test('grants to several roles, and says so', () => {
    const grants = ['--grant-serve', at.serve, '--grant-serve', at.nobody, '--grant-produce', at.produce];
    expect(dibs(at.urlAs('owner'), 'migrate', ...grants)).toEqual({
      status: 0,
      stdout: `The database is up to date.\n${at.serve} may serve.\n${at.nobody} may serve.\n${at.produce} may call dibs.enqueue.\n`,
      stderr: '',
    });
  });

  test('refuses a role that does not exist, PUBLIC among them, and changes nothing then', () => {
    for (const role of ['no such role', 'public', 'PUBLIC', '"; drop schema dibs cascade; --']) {
      const { status, stderr } = dibs(at.urlAs('owner'), 'migrate', '--grant-serve', role);
      expect(stderr).toBe(
        `dibs: There is no role ${JSON.stringify(role)}. Create it first: create role ... login\n`,
      );
      expect(status).toBe(1);
    }
  });

  test('refuses a role that may not migrate in one line', () => {
    const { status, stderr } = dibs(at.urlAs('serve'), 'migrate');
    expect(stderr).toMatch(
      /^dibs: The database cannot be migrated: permission denied .*\(SQLSTATE 42501\)\.\n$/,
    );
    expect(status).toBe(1);
  });

  test('refuses options that it does not know, with status 2', () => {
    for (const args of [['--grant'], ['--grant-serve'], ['one']]) {
      const { status, stderr } = dibs(at.urlAs('owner'), 'migrate', ...args);
      expect(stderr).toMatch(/^dibs: \S.*\n(Add --help to see what it takes\.\n)?$/);
      expect(status).toBe(2);
    }
  });
});

test('the commands of docs/operating.md give three roles, also to an administrator who is no superuser', async () => {
  const roles = textOf('docs/operating.md').split('\n### Roles\n')[1] as string;
  const block = (language: string) =>
    (roles.split(`\`\`\`${language}\n`)[1] as string).split('\n```')[0] as string;
  const tag = randomBytes(4).toString('hex');
  const named = (text: string) => text.replaceAll(/\b(dibs_owner|dibs_app|shop)\b/g, `$1_${tag}`);
  const sql = named(block('sql')).replaceAll('database dibs ', `database dibs_${tag} `);
  const serverUrl = inject('postgresUrl');
  const admin = `admin_${tag}`;
  await onServer(serverUrl, `create role ${admin} login createrole createdb password '${admin}'`);
  try {
    for (const statement of sql.split('\n').map((line) => line.replace(/;.*$/, '')))
      await onServer(asRole(serverUrl, admin), statement);
    const commands = named(block('sh'))
      .replaceAll('@db/dibs', `@${new URL(serverUrl).host}/dibs_${tag}`)
      .split('\n');
    const parsed = commands.map(
      (command) => /^DATABASE_URL=(\S+) dibs (.*)$/.exec(command) as RegExpExecArray,
    );
    const [[, ownerUrl, migrate], [, appUrl]] = parsed as unknown as [
      [string, string, string],
      [string, string],
    ];
    const migrated = dibs(ownerUrl, ...migrate.split(' '));
    expect(migrated.stderr).toBe('');
    expect(migrated.stdout).toContain(`dibs_app_${tag} may serve.\nshop_${tag} may call dibs.enqueue.\n`);
    const replica = await startReplica({ DATABASE_URL: appUrl });
    const shop = ownerUrl.replace(`dibs_owner_${tag}:secret-1`, `shop_${tag}:secret-3`);
    await onServer(shop, `select dibs.enqueue('orders', '1')`);
    expect((await http(replica.url, 'POST', '/jobs/claim', { queues: ['orders'] })).body.jobs).toHaveLength(
      1,
    );
    await replica.end('SIGTERM');
    await expect(onServer(shop, 'create temp table mine ()')).rejects.toMatchObject({ code: '42501' });
  } finally {
    await onServer(serverUrl, `drop database if exists dibs_${tag} with (force)`);
    for (const role of ['dibs_owner', 'dibs_app', 'shop'])
      await onServer(serverUrl, `drop role if exists ${role}_${tag}`);
    await onServer(serverUrl, `drop role ${admin}`);
  }
});
