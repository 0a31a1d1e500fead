import { execFile, spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { percentile } from '../../commands/remote/bench.ts';
import { elements, members, pretty } from '../../commands/remote/jsonText.ts';
import { lasting } from '../../commands/remote/terminal.ts';
import { cliAt } from '../support/cli.ts';
import { createDatabase, createEmptyDatabase, onServer } from '../support/database.ts';
import { type Service, startService } from '../support/service.ts';
import { onTerminal as commandOnTerminal } from '../support/terminal.ts';
import { until } from '../support/until.ts';

let service: Service;
let url: string;
let folder: string;
let dibs: ReturnType<typeof cliAt>;
beforeAll(async () => {
  service = await startService();
  url = await service.listen();
  folder = mkdtempSync(join(tmpdir(), 'dibs-cli-'));
  dibs = cliAt(url);
});
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await service.stop();
});

const enqueue = async (queue: string, payload = '1') =>
  (await dibs(['enqueue', queue, payload])).stdout.trim();

/** The command on a terminal of its own. `play` reads what is on it, and types. */
const onTerminal = (args: string, play: Parameters<typeof commandOnTerminal>[2]) =>
  commandOnTerminal(`exec ${process.execPath} dist/main.js ${args}`, { DIBS_URL: url }, play);

describe('a real terminal', () => {
  test('top draws on a screen of its own, and gives the old one back at "q"', async () => {
    await enqueue('watched');
    const { status, screen } = await onTerminal('top --interval 0.2', async (shown, type) => {
      await until(() => /watched +1 /.test(shown()), { what: 'the queue on the screen' });
      await enqueue('watched');
      await until(() => /watched +2 /.test(shown()), { what: 'the second job on the screen' });
      type('q');
    });
    const once = await dibs(['top']);
    expect(once.stdout).toMatch(/^watched +2 /m);
    expect(JSON.parse((await dibs(['top', '--json'])).stdout)).toHaveProperty('troubled');
    expect(status).toBe(0);
    expect(screen.startsWith('\u001b[?1049h')).toBe(true);
    expect(screen.trimEnd().endsWith('\u001b[?1049l')).toBe(true);
  });

  test('purge says what it will do and where, and waits for a yes', async () => {
    await enqueue('asked');
    const purge = (answer: string) =>
      onTerminal('purge asked --state ready', async (shown, type) => {
        await until(() => shown().includes('Go on? [y/N]'), { what: 'the question' });
        type(answer);
      });
    const no = await purge('n\r');
    expect(no.status).toBe(1);
    expect(no.screen).toContain('This deletes jobs of queue "asked", for ever: 1 ready.');
    expect(no.screen).toContain(url);
    const yes = await purge('y\r');
    expect(yes.status).toBe(0);
    expect(yes.screen).toContain('1 job deleted.');
  });
});

describe('edit', () => {
  const editor = (script: string) => {
    const file = join(folder, 'editor.sh');
    writeFileSync(file, `#!/bin/sh\n${script}\n`);
    chmodSync(file, 0o755);
    return { EDITOR: file };
  };

  test('changes what was changed, and leaves every digit of the rest', async () => {
    const id = await enqueue('edited', '{"n":12345678901234567890,"to":"ada"}');
    const ran = await dibs(['edit', id], {
      env: editor(`sed -i 's/"ada"/"bob"/; s/"priority": 0/"priority": 9/' "$1"`),
    });
    expect(ran).toMatchObject({ status: 0, stdout: `${id}: changed payload, priority.\n` });
    expect((await dibs(['job', id, '--payload'])).stdout).toBe('{"n":12345678901234567890,"to":"bob"}\n');
    expect((await service.call('GET', `/jobs/${id}`)).body.priority).toBe(9);
    expect(await dibs(['edit', id], { env: editor('true') })).toMatchObject({
      status: 0,
      stderr: 'Nothing was changed.\n',
    });
    expect(await dibs(['edit', id], { env: editor('exit 3') })).toMatchObject({ status: 2 });
  });

  test('what is refused stays in a file', async () => {
    const id = await enqueue('edited');
    const ran = await dibs(['edit', id], { env: editor(`sed -i 's/"priority": 0/"priority": 999/' "$1"`) });
    expect(ran.status).toBe(1);
    const [, file = ''] = /What you wrote is in (\S+)/.exec(ran.stderr) ?? [];
    expect(readFileSync(file, 'utf8')).toContain('999');
    rmSync(dirname(file), { recursive: true });
  });
});

test('tail prints jobs as they end, each once, and as they were with --json', async () => {
  const settle = async (verb: 'ack' | 'nack', more: string[]) => {
    const id = await enqueue('tailed');
    const [job] = JSON.parse((await dibs(['claim', 'tailed', '--json'])).stdout).jobs;
    await dibs([verb, id, job.lease_token, ...more]);
    return id;
  };
  await dibs(['queue', 'set', 'tailed', '--retention-seconds', '600']);
  const before = await settle('ack', ['--result', '1.10']);
  const ended = new AbortController();
  let output = '';
  const running = dibs(['tail', '--queue', 'tailed', '--json', '--interval', '0.2'], {
    ended: ended.signal,
    onOutput: (text) => {
      output = text;
    },
  });
  await until(() => output.includes(before), { what: 'the job of before' });
  const died = await settle('nack', ['--no-retry', '--error', 'boom']);
  await until(() => output.includes(died), { what: 'the job that died' });
  ended.abort();
  expect((await running).status).toBe(0);
  const lines = output.trimEnd().split('\n');
  expect(lines).toHaveLength(2);
  expect(lines[0]).toContain('"result":1.10');
  expect(JSON.parse(lines[1] as string)).toMatchObject({ id: died, state: 'dead', last_error: 'boom' });
});

test('bench puts its jobs through a queue of its own, and leaves nothing behind', async () => {
  for (const more of [[], ['--batch', '10']]) {
    const ran = await dibs(['bench', '--jobs', '40', '--concurrency', '4', '--json', ...more]);
    expect(ran.status).toBe(0);
    const { queue, results } = JSON.parse(ran.stdout);
    expect(results.map(({ what }: { what: string }) => what)).toEqual(['enqueue', 'claim', 'ack']);
    for (const { jobs_per_second, p50_ms, p99_ms } of results) {
      expect(jobs_per_second).toBeGreaterThan(0);
      expect(p99_ms).toBeGreaterThanOrEqual(p50_ms);
    }
    expect((await service.call('GET', `/queues/${queue}`)).status).toBe(404);
  }
});

test('contexts keep an address with its key, for its owner alone, and no key goes to another address', async () => {
  const env = { DIBS_URL: undefined, DIBS_CONFIG: join(folder, 'config', 'config.json') };
  const context = (...args: string[]) => dibs(['context', ...args], { env, stdin: 'secret-key\n' });
  await context('set', 'here', '--url', url);
  await context('set', 'there', '--url', 'http://127.0.0.1:9', '--key-file', '-');
  expect(statSync(env.DIBS_CONFIG).mode & 0o777).toBe(0o600);
  const listed = await context('list');
  expect(listed.stdout).toMatch(/^\* +here +http.* no\n +there +http:\/\/127.0.0.1:9 +yes$/m);
  expect(listed.stdout).not.toContain('secret-key');
  expect((await dibs(['queues'], { env })).status).toBe(0);
  expect((await dibs(['queues', '--context', 'there'], { env })).status).toBe(3);
  expect((await dibs(['queues'], { env: { ...env, DIBS_CONTEXT: 'there' } })).status).toBe(3);
  expect((await dibs(['queues'], { env: { ...env, DIBS_CONTEXT: 'there', DIBS_URL: url } })).status).toBe(3);
  await context('use', 'there');
  expect((await dibs(['queues'], { env })).status).toBe(3);
  expect((await dibs(['queues'], { env: { ...env, DIBS_URL: url } })).status).toBe(0);
  await context('set', 'there', '--url', url);
  expect(readFileSync(env.DIBS_CONFIG, 'utf8')).not.toContain('secret-key');
  await context('delete', 'there');
  expect(await dibs(['queues', '--context', 'there'], { env })).toMatchObject({ status: 2 });
});

/** What a shell is told while somebody types. `dibs` is this Dibs there. */
async function shellAt(shell: 'bash' | 'zsh' | 'fish', script: string): Promise<string> {
  const env = { ...process.env, DIBS_URL: url, DIBS_CONFIG: join(folder, 'contexts.json') };
  return (await promisify(execFile)(shell, ['-c', script], { env })).stdout.trim();
}
const OWN = `dibs() { '${process.execPath}' dist/main.js "$@"; }`;

describe('completion', () => {
  test('bash completes commands, the options and commands below them, and what exists: queues, jobs, contexts', async () => {
    const { stdout } = await dibs(['completion', 'bash']);
    const complete = (...words: string[]) => {
      const array = words.map((word) => `'${word}'`).join(' ');
      return shellAt(
        'bash',
        `${OWN}\n${stdout}\nCOMP_WORDS=(${array}); COMP_CWORD=${words.length - 1}; _dibs; echo "\${COMPREPLY[@]}"`,
      );
    };
    expect(await complete('dibs', 'que')).toBe('queues queue');
    expect(await complete('dibs', 'queue', 's')).toBe('show set');
    expect(await complete('dibs', 'queue', 'set', 'mail', '--max-l')).toBe('--max-leased');
    expect(await complete('dibs', 'migrate', '--d')).toBe('--dry-run');

    const id = await enqueue('completed.here');
    const set = ['context', 'set', 'prod', '--url', url];
    await dibs(set, { env: { DIBS_CONFIG: join(folder, 'contexts.json') } });
    expect(await complete('dibs', 'claim', 'completed.')).toBe('completed.here');
    expect(await complete('dibs', 'queue', 'set', 'completed.')).toBe('completed.here');
    expect(await complete('dibs', 'work', 'completed.')).toBe('completed.here');
    expect(await complete('dibs', 'jobs', '--queue', 'completed.')).toBe('completed.here');
    expect(await complete('dibs', 'jobs', '--context', 'prod', '--queue', 'completed.')).toBe(
      'completed.here',
    );
    expect(await complete('dibs', 'jobs', '--context', 'nowhere', '--queue', 'completed.')).toBe('');
    expect(await complete('dibs', 'history', id.slice(0, -1))).toBe(id);
    expect(await complete('dibs', 'jobs', '--context', 'p')).toBe('prod');
    expect(await complete('dibs', 'context', 'use', 'p')).toBe('prod');
  });

  test('zsh and fish know the same words, and another shell is refused', async () => {
    const zsh = (await dibs(['completion', 'zsh'])).stdout;
    expect(zsh).toMatch(/^#compdef dibs\n[\s\S]*\*:queue:set\) words_=".*--max-leased.*" takes=queues/);
    const fish = (await dibs(['completion', 'fish'])).stdout;
    expect(fish).toContain(
      "complete -c dibs -n '__fish_seen_subcommand_from queue; and __fish_seen_subcommand_from set' -l max-leased",
    );
    expect(fish).toContain(
      "-n '__fish_seen_subcommand_from history' -f -a '(dibs completion jobs 2> /dev/null)'",
    );
    expect((await dibs(['completion', 'tcsh'])).status).toBe(2);
  });

  test('says nothing where no Dibs is', async () => {
    const ran = await dibs(['completion', 'queues'], { env: { DIBS_URL: 'http://127.0.0.1:1' } });
    expect(ran).toEqual({ status: 0, stdout: '', stderr: '' });
  });
});

test('migrate --dry-run says what is missing, and changes nothing', async () => {
  const empty = await createEmptyDatabase();
  const migrate = (databaseUrl: string, ...args: string[]) =>
    spawnSync(process.execPath, ['dist/main.js', 'migrate', ...args], {
      encoding: 'utf8',
      env: { ...process.env, DATABASE_URL: databaseUrl },
    });
  try {
    const said = migrate(empty.url, '--dry-run');
    expect(said).toMatchObject({ status: 0, stdout: expect.stringMatching(/^Would migrate: 0001/) });
    const schemas = await onServer(empty.url, "select from pg_namespace where nspname = 'dibs'");
    expect(schemas).toHaveLength(0);
    const ready = await createDatabase();
    expect(migrate(ready.url, '--dry-run').stdout).toBe('The database is up to date.\n');
    await ready.drop();
  } finally {
    await empty.drop();
  }
});

test('JSON keeps its text: indents, members and elements', () => {
  const text = '{"a":[1.0,{"b":"}, \\"x\\" ["}],"c":{},"d":[],"e":-1e400}';
  expect(
    pretty(text)
      .replaceAll(/\s*\n\s*/g, '')
      .replaceAll('": ', '":'),
  ).toBe(text);
  expect([...(members(text) ?? [])]).toEqual([
    ['a', '[1.0,{"b":"}, \\"x\\" ["}]'],
    ['c', '{}'],
    ['d', '[]'],
    ['e', '-1e400'],
  ]);
  expect(elements('[1.10, {"a":[2,3]}, "x,y", []]')).toEqual(['1.10', '{"a":[2,3]}', '"x,y"', '[]']);
  expect(elements('[]')).toEqual([]);
  expect(members('[1]')).toBeUndefined();
});

test('numbers for people: percentiles, times', () => {
  const hundred = Array.from({ length: 100 }, (_, i) => i + 1);
  expect([0.5, 0.99, 1].map((share) => percentile(hundred, share))).toEqual([50, 99, 100]);
  expect(percentile([], 0.5)).toBe(0);
  expect([7.9, 600, 7200, 400_000].map(lasting)).toEqual(['7 s', '10 min', '2.0 h', '4 d']);
});
