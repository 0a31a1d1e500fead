import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { cliAt } from '../support/cli.ts';
import { type Service, startService } from '../support/service.ts';

let service: Service;
let dibs: ReturnType<typeof cliAt>;
beforeAll(async () => {
  service = await startService();
  dibs = cliAt(await service.listen());
});
afterAll(() => service.stop());

const body = async (path: string) => (await service.call('GET', path)).body;
const apply = (file: string, ...more: string[]) => dibs(['apply', '-', ...more], { stdin: file });
const diff = (file: string, ...more: string[]) => dibs(['diff', '-', ...more], { stdin: file });
const isThere = async (path: string) => (await service.call('GET', path)).status === 200;

let turns = 0;

describe('dibs apply', () => {
  test('shows what differs, changes that, and then nothing', async () => {
    const file = `queues:
  shop.mail: { max_leased: 5, backoff: { kind: linear, base_seconds: 30 } }
  shop.plain: {}
schedules:
  shop.nightly: { cron: "0 3 * * *", job: { queue: shop.mail, payload: { kind: daily } } }
`;
    const first = await apply(file);
    expect(first).toMatchObject({ status: 0, stderr: '' });
    expect(first.stdout).toBe(`+ queue "shop.mail"
    + max_leased: 5
    + backoff.kind: "linear"
    + backoff.base_seconds: 30
+ queue "shop.plain"
+ schedule "shop.nightly"
    + cron: "0 3 * * *"
    + timezone: "UTC"
    + paused: false
    + job.queue: "shop.mail"
    + job.payload: {"kind":"daily"}
3 to create
3 changes are made.
`);
    expect((await body('/queues/shop.mail')).config).toMatchObject({
      max_leased: 5,
      backoff: { kind: 'linear', base_seconds: 30, jitter: 0.2 },
    });
    expect(await body('/schedules/shop.nightly')).toMatchObject({ job: { payload: { kind: 'daily' } } });
    expect(await apply(file)).toMatchObject({ status: 0, stdout: 'No differences.\n', stderr: '' });
  });

  test('what the file leaves out takes its default, and other queues and schedules stay as they are', async () => {
    await service.call('PUT', '/queues/left.a', { max_attempts: 9, max_leased: 3, max_ready: 7 });
    await service.call('PUT', '/queues/left.b', { max_attempts: 9 });
    const ran = await apply('queues:\n  left.a: { max_ready: 8 }\n');
    expect(ran.stdout).toBe(`~ queue "left.a"
    ~ max_attempts: 9 -> 5 (default)
    - max_leased: 3
    ~ max_ready: 7 -> 8
1 to change
1 change is made.
`);
    const { config } = await body('/queues/left.a');
    expect(config).toMatchObject({ max_attempts: 5, max_ready: 8 });
    expect(config).not.toHaveProperty('max_leased');
    expect((await body('/queues/left.b')).config).toMatchObject({ max_attempts: 9 });
  });

  test('numbers stay as they were written: no field differs for ever', async () => {
    const file =
      'queues:\n  digits: { lease_seconds: 0.1234567891, dead_retention_seconds: 1.000000049, backoff: { base_seconds: 0.12345678, jitter: 0.333333333333 }, rate_limit: { jobs: 3, per_seconds: 7.7777777777 } }\n';
    expect(await apply(file)).toMatchObject({ status: 0 });
    expect(await diff(file)).toMatchObject({ status: 0, stdout: 'No differences.\n' });
  });

  test('a schedule that somebody paused stays paused, unless the file says it', async () => {
    const file = (more = '') => `schedules:\n  rest: { cron: "0 3 * * *"${more}, job: {} }\n`;
    await apply(file());
    await dibs(['schedules', 'pause', 'rest']);
    expect(await diff(file())).toMatchObject({ status: 0 });
    await apply(file(', timezone: Europe/Berlin'));
    expect(await body('/schedules/rest')).toMatchObject({ paused: true, timezone: 'Europe/Berlin' });
    const told = await apply(file(', timezone: Europe/Berlin, paused: false'));
    expect(told.stdout).toContain('~ schedule "rest"\n    ~ paused: true -> false\n');
    expect(await body('/schedules/rest')).toMatchObject({ paused: false });
  });

  test('a wrong file changes nothing, and each problem has its line and column', async () => {
    const ran = await apply('queues:\n  never.a: {}\n  never.b:\n    max_lease: 5\n');
    expect(ran).toMatchObject({ status: 2, stdout: '' });
    expect(ran.stderr).toBe(
      'dibs: Standard input is not a valid queues file. Nothing was done.\nline 4, column 5: /queues/never.b/max_lease is not a known field\n',
    );
    expect(await isThere('/queues/never.a')).toBe(false);
    expect(await dibs(['apply', '/nowhere/queues.yaml'])).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('/nowhere/queues.yaml cannot be read'),
    });
  });

  test('a dead letter queue that is gone is made again beside its queue, and nothing else is changed', async () => {
    const file =
      'queues:\n  again: { dead_letter_queue: again.dead }\n  again.too: { dead_letter_queue: again.dead }\n';
    expect((await diff(file)).stdout).toBe(`+ queue "again"
    + dead_letter_queue: "again.dead"
+ queue "again.too"
    + dead_letter_queue: "again.dead"
+ queue "again.dead"
3 to create
`);
    expect((await apply(file)).stdout).toContain('3 changes are made.\n');
    expect(await diff(file)).toMatchObject({ status: 0, stdout: 'No differences.\n' });
    await service.call('PUT', '/queues/again.dead', { max_attempts: 7 });
    expect(await diff(file)).toMatchObject({ status: 0, stdout: 'No differences.\n' });
    await service.call('DELETE', '/queues/again.dead');
    expect(await diff(file)).toMatchObject({ status: 2, stdout: '+ queue "again.dead"\n1 to create\n' });
    expect(await apply(file)).toMatchObject({ status: 0 });
    expect(await isThere('/queues/again.dead')).toBe(true);
  });

  test.each([
    ['two', ['b: { dead_letter_queue: NAME.a }', 'a: {}']],
    ['three', ['c: { dead_letter_queue: NAME.b }', 'b: { dead_letter_queue: NAME.a }', 'a: {}']],
    ['over a queue that the file does not name', ['b: { dead_letter_queue: NAME.z }', 'a: {}']],
  ])('dead letter queues that change places do so in one go: %s', async (_, lines) => {
    const name = `turn${++turns}`;
    const links = { a: 'b', b: 'c', z: 'a' };
    for (const [queue, to] of Object.entries(links)) {
      const config = { dead_letter_queue: `${name}.${to}` };
      expect((await service.call('PUT', `/queues/${name}.${queue}`, config)).status).toBe(200);
    }
    const file = `queues:\n${lines.map((line) => `  ${name}.${line.replace('NAME', name)}\n`).join('')}`;
    expect(await apply(file)).toMatchObject({ status: 0, stderr: '' });
    expect(await diff(file)).toMatchObject({ status: 0 });
  });

  test('a refusal of Dibs ends it, and says what was done before', async () => {
    const ran = await apply('queues:\n  some.a: {}\n  some.b: { database: nowhere }\n  some.c: {}\n');
    expect(ran.status).toBe(1);
    expect(ran.stderr).toMatch(
      /^1 change was made, and no more: queue "some.b" was refused\.\ndibs: database must be /,
    );
    expect(await isThere('/queues/some.a')).toBe(true);
    expect(await isThere('/queues/some.c')).toBe(false);
  });

  test('where a dead letter queue that somebody set by hand leads back, the message names that queue', async () => {
    await service.call('PUT', '/queues/hand.b', { dead_letter_queue: 'hand.c' });
    await service.call('PUT', '/queues/hand.c', { dead_letter_queue: 'hand.a' });
    const ran = await apply('queues:\n  hand.a: { dead_letter_queue: hand.b }\n');
    expect(ran).toMatchObject({
      status: 1,
      stderr:
        '0 changes were made, and no more: queue "hand.a" was refused.\n' +
        'dibs: dead_letter_queue must not lead back to this queue: hand.a → hand.b → hand.c → hand.a. ' +
        'Change the dead letter queue of hand.c first. (invalid_request)\n',
    });
  });

  test('a queue in another database than the file says is left, and told', async () => {
    await service.call('PUT', '/queues/placed', {});
    const { database } = await body('/queues/placed');
    if (database === undefined) return;
    const wished = database === 'home' ? 'a' : 'home';
    const ran = await apply(`queues:\n  placed: { database: ${wished}, max_leased: 4 }\n`);
    expect(ran.status).toBe(1);
    expect(ran.stdout).toContain(
      `Queue "placed" is in the database ${database}, and the file says ${wished}.`,
    );
    expect((await body('/queues/placed')).config.max_leased).toBe(4);
  });
});

describe('dibs apply --prune', () => {
  let own: Service;
  let folder: string;
  let at: ReturnType<typeof cliAt>;
  beforeAll(async () => {
    own = await startService();
    at = cliAt(await own.listen());
    folder = mkdtempSync(join(tmpdir(), 'dibs-queues-'));
  });
  afterAll(async () => {
    rmSync(folder, { recursive: true });
    await own.stop();
  });
  const names = async () =>
    (await own.call('GET', '/queues')).body.queues.map(({ name }: { name: string }) => name);

  test('deletes schedules and empty queues that the file does not name, when somebody says yes', async () => {
    for (const name of ['full', 'empty', 'ticks', 'stays']) await own.call('PUT', `/queues/${name}`, {});
    await own.call('POST', '/jobs', { queue: 'full' });
    const spec = { cron: '0 4 * * *', job: { queue: 'ticks' } };
    await own.call('PUT', '/schedules/gone', spec);
    await own.call('PUT', '/schedules/stays', spec);
    const file = join(folder, 'queues.yaml');
    writeFileSync(file, `queues:\n  stays: {}\nschedules:\n  stays: ${JSON.stringify(spec)}\n`);

    expect(await at(['diff', file])).toMatchObject({ status: 0 });
    const told = await at(['diff', file, '--prune']);
    expect(told.status).toBe(2);
    expect(told.stdout).toBe(`- schedule "gone"
- queue "empty"
Queue "full" is kept: it has 1 job.
2 to delete
`);
    const alone = await at(['apply', file, '--prune']);
    expect(alone).toMatchObject({ status: 2, stdout: told.stdout });
    const question = 'This deletes schedule "gone", queue "empty", for ever.';
    expect(alone.stderr).toContain(`${question} Nobody is here to confirm it: add --yes.`);
    const declined = await at(['apply', file, '--prune'], { types: 'n\n' });
    expect(declined).toMatchObject({ status: 1, stderr: expect.stringContaining(question) });
    expect(await names()).toEqual(['empty', 'full', 'stays', 'ticks']);

    expect(await at(['apply', file, '--prune'], { types: 'y\n' })).toMatchObject({ status: 0 });
    // A schedule of the file enqueues into "ticks".
    expect(await names()).toEqual(['full', 'stays', 'ticks']);
    expect((await own.call('GET', '/schedules')).body.schedules).toMatchObject([{ name: 'stays' }]);
    expect(await at(['apply', file, '--prune', '--yes'])).toMatchObject({ status: 0 });
  });

  test('looks at no section that the file does not have', async () => {
    await own.call('PUT', '/queues/empty', {});
    const stdin = 'schedules: {}\n';
    expect((await at(['apply', '-', '--prune', '--yes'], { stdin })).stdout).toContain('- schedule "stays"');
    expect(await names()).toContain('empty');
  });

  test('a queue that is named only as the dead letter queue of a queue that stays, stays', async () => {
    const file = join(folder, 'letters.yaml');
    writeFileSync(
      file,
      'queues:\n  x: { max_attempts: 1, dead_letter_queue: x.dead }\n  y: {}\nschedules:\n  t: { cron: "0 4 * * *", job: { queue: ticks } }\n',
    );
    const letters = (queue: string) =>
      own.call('PUT', `/queues/${queue}`, { dead_letter_queue: `${queue}.dead` });
    for (const queue of ['x.dead', 'y', 'ticks', 'full', 'unnamed']) await letters(queue);
    await own.call('POST', '/jobs', { queue: 'full' });
    expect(await at(['apply', file])).toMatchObject({ status: 0 });
    const told = await at(['diff', file, '--prune']);
    expect(told.stdout).toContain('- queue "unnamed"\n- queue "unnamed.dead"\n');
    expect(await at(['apply', file, '--prune', '--yes'])).toMatchObject({ status: 0 });
    const left = await names();
    expect(left).toEqual(
      expect.arrayContaining(['x', 'x.dead', 'x.dead.dead', 'y', 'ticks', 'ticks.dead', 'full', 'full.dead']),
    );
    // The file takes the dead letter queue of y away.
    for (const gone of ['y.dead', 'unnamed', 'unnamed.dead']) expect(left).not.toContain(gone);
    expect(await at(['diff', file, '--prune'])).toMatchObject({ status: 0 });
  });
});

describe('dibs diff', () => {
  test('ends with 0 where nothing differs, 2 where something does, 1 for an error, and changes nothing', async () => {
    expect(await diff('queues: {}\n')).toMatchObject({ status: 0 });
    expect(await diff('queues:\n  diff.a: {}\n')).toMatchObject({ status: 2, stderr: '' });
    expect(await isThere('/queues/diff.a')).toBe(false);
    expect(await diff('queues:\n  diff.a: []\n')).toMatchObject({ status: 1, stdout: '' });
    expect(await diff('queues: {}\n', '--nonsense')).toMatchObject({ status: 1, stdout: '' });
    expect(await dibs(['diff'])).toMatchObject({ status: 1, stdout: '' });
    expect(
      await dibs(['diff', '-'], { stdin: 'queues: {}', env: { DIBS_URL: 'http://127.0.0.1:1' } }),
    ).toMatchObject({
      status: 3,
    });
  });

  test('has colours on a terminal only', async () => {
    const file = 'queues:\n  diff.b: { max_leased: 1 }\n';
    expect((await diff(file)).stdout).not.toContain('\u001b');
    const shown = await dibs(['diff', '-'], { types: file });
    expect(shown.stdout).toContain(
      '\u001b[32m+ queue "diff.b"\u001b[0m\n    \u001b[32m+ max_leased: 1\u001b[0m\n',
    );
    const plain = await dibs(['diff', '-'], { types: file, env: { NO_COLOR: '1' } });
    expect(plain.stdout).not.toContain('\u001b');
  });

  test('--json has the values for programs', async () => {
    await service.call('PUT', '/queues/diff.c', { max_leased: 2 });
    const ran = await diff('queues:\n  diff.c: { max_leased: 3 }\n', '--json');
    expect(JSON.parse(ran.stdout)).toEqual({
      changes: [
        {
          kind: 'queue',
          name: 'diff.c',
          action: 'change',
          fields: [{ path: 'max_leased', before: 2, after: 3 }],
        },
      ],
      keys: [],
      kept: [],
      elsewhere: [],
    });
  });
});

describe('dibs dump', () => {
  test('prints a file that says how things are, payloads with every digit', async () => {
    await service.call('PUT', '/queues/dump.a', { max_leased: 5, backoff: { kind: 'linear' } });
    const payload = '{"n":12345678901234567890,"f":1.10,"a":1,"a":2,"s":"\\u0000 # \\u00e9"}';
    await service.call(
      'PUT',
      '/schedules/dump.s',
      `{"cron":"*/5 * * * *","paused":true,"job":{"queue":"dump.a","group":"yes","headers":{"a":"1"},"payload":${payload}}}`,
    );
    const { status, stdout, stderr } = await dibs(['dump']);
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout).toMatch(
      /^# yaml-language-server: \$schema=http:\/\/127\.0\.0\.1:\d+\/queues\.schema\.json\nqueues:\n/,
    );
    expect(stdout).toMatch(/^ {2}dump\.a:\n {4}backoff:\n {6}kind: linear\n {4}max_leased: 5\n/m);
    expect(stdout).toContain(`    paused: true\n    job:\n`);
    expect(stdout).toContain(`      payload: ${payload}\n`);
    expect(await diff(stdout, '--prune')).toMatchObject({
      status: 0,
      stdout: expect.not.stringMatching(/^[-+~]/m),
    });
    const json = (await dibs(['dump', '--json'])).stdout;
    expect(json).toContain(payload);
    expect(await diff(json)).toMatchObject({ status: 0 });
  });

  test('its schema is served to editors', async () => {
    const { stdout } = await dibs(['dump']);
    const [, url = ''] = /\$schema=(\S+)/.exec(stdout) ?? [];
    const schema = await (await fetch(url)).json();
    expect(schema).toMatchObject({ title: 'Queues of Dibs as code' });
  });
});

describe('access keys', () => {
  test('are compared by scopes and queues; what is missing is told with the command that makes it', async () => {
    const own = await startService();
    try {
      const url = await own.listen();
      const { body: admin } = await own.call('POST', '/keys', { name: 'admin', scopes: ['admin'] });
      const at = cliAt(url, { DIBS_KEY: admin.key });
      const run = (...args: string[]) => at(args);
      await run('keys', 'create', 'same', '--scope', 'consume', '--scope', 'read', '--queue', 'mail');
      await run('keys', 'create', 'other', '--scope', 'consume');
      const stdin =
        "queues:\n  mail: {}\nkeys:\n  same: { scopes: [read, consume], queues: [mail] }\n  other: { scopes: [read] }\n  new one: { scopes: [produce], queues: ['mail.*'] }\n";
      const ran = await at(['apply', '-'], { stdin });
      expect(ran.status).toBe(1);
      expect(ran.stdout).toContain('~ key "other"\n    ~ scopes: ["consume"] -> ["read"]\n+ key "new one"\n');
      expect(ran.stdout).toContain(
        'Access key "other" is not as the file says. Run: dibs keys revoke other && dibs keys create other --scope read --queue \'*\'\n',
      );
      expect(ran.stdout).toContain(
        "Access key \"new one\" is missing. Run: dibs keys create 'new one' --scope produce --queue 'mail.*'\n",
      );
      expect(ran.stderr).toBe('The rest is for you: 2 differences as above.\n');
      expect(ran.stdout).toContain('1 change is made.\n');
      await run('keys', 'revoke', 'other', '--yes');
      await run('keys', 'create', 'other', '--scope', 'read');
      await run('keys', 'create', 'new one', '--scope', 'produce', '--queue', 'mail.*');
      expect(await at(['diff', '-'], { stdin })).toMatchObject({ status: 0 });
      const dumped = (await run('dump')).stdout;
      expect(dumped).toContain('  same:\n    scopes: [consume, read]\n    queues: [mail]\n');
      expect(dumped).not.toContain('dibs_');

      const narrow = await run('keys', 'create', 'narrow', '--scope', 'admin', '--queue', 'mail');
      const as = cliAt(url, { DIBS_KEY: narrow.stdout.trim() });
      const seen = await as(['dump']);
      expect(seen.status).toBe(0);
      expect(seen.stderr).toMatch(/^Without access keys: /);
      expect(seen.stdout).not.toContain('keys:');
      expect(await as(['apply', '-'], { stdin: 'queues:\n  bank: {}\n' })).toMatchObject({ status: 1 });
    } finally {
      await own.stop();
    }
  });
});
