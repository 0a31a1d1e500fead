import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { onTerminal } from '../support/terminal.ts';

const dibs = (args: string[], env: Record<string, string> = {}) =>
  spawnSync(process.execPath, ['dist/main.js', ...args], {
    encoding: 'utf8',
    env: { ...process.env, DIBS_CONFIG: '/nowhere', DATABASE_URL: '', ...env },
  });

test.each([
  [['queus'], "unknown command 'queus', did you mean one of queue, queues?"],
  [['help', 'histry'], "unknown command 'histry', did you mean history?"],
  [['wrok', 'mail', '--', 'true'], "unknown command 'wrok', did you mean work?"],
  [['--verison'], "unknown command '--verison', did you mean --version?"],
  [['xyzzy'], "unknown command 'xyzzy'"],
  [['keys', 'creat', 'a'], "unknown command 'keys creat', did you mean create?"],
  [['schedules', 'delte', 'a'], "unknown command 'schedules delte', did you mean delete?"],
  [['queue', 'st', 'mail'], "unknown command 'queue st', did you mean set?"],
  [['jobs', '--quue', 'mail'], "unknown option '--quue', did you mean --queue?"],
  [
    ['work', 'mail', '--concurency', '2', '--', 'true'],
    "unknown option '--concurency', did you mean --concurrency?",
  ],
  [['doctor', '--jsn'], "unknown option '--jsn', did you mean --json?"],
  [['export', '--with-key'], "unknown option '--with-key', did you mean --with-keys?"],
  [['import', 'file', '--new-id'], "unknown option '--new-id', did you mean --new-ids?"],
  [['migrate', '--dry-rn'], "unknown option '--dry-rn', did you mean --dry-run?"],
  [['keys', 'create', 'a', '--scop', 'read'], "unknown option '--scop', did you mean --scope?"],
  [
    ['job', 'a', 'b'],
    "too many arguments for 'job'. Expected 1 argument but got 2. An argument with spaces must be in quotes.",
  ],
  [['serve', '--port', '80'], "unknown option '--port'"],
  [['work', 'mail'], 'dibs work needs a command, after "--".'],
])('%j: one line says what was meant, and one where to read more', (args, said) => {
  const { status, stdout, stderr } = dibs(args);
  expect({ status, stdout, lines: stderr.split('\n') }).toEqual({
    status: 2,
    stdout: '',
    lines: [`dibs: ${said}`, expect.stringMatching(/--help|dibs help/), ''],
  });
});

test('dibs enqueue with several payloads enqueues nothing, and says how many jobs are enqueued', () => {
  const { status, stdout, stderr } = dibs(['enqueue', 'mail', '{"to":', '"ada@example.com"}'], {
    DIBS_URL: 'http://127.0.0.1:1',
  });
  expect({ status, stdout, stderr }).toEqual({
    status: 2,
    stdout: '',
    stderr:
      'dibs: enqueue takes one payload, not 2: put it in quotes. Many jobs take --ndjson, with a payload on each line: ' +
      "printf '%s\\n' 1 2 | dibs enqueue mail --ndjson -\n",
  });
});

test.each(['localhost:8080', '127.0.0.1:8080', 'dibs.example.com', 'ftp://dibs'])(
  'an address without http or https says so: %s',
  (address) => {
    const wanted = 'url must begin with http:// or https://, as in http://127.0.0.1:8080';
    const byVariable = dibs(['queues'], { DIBS_URL: address });
    expect(byVariable).toMatchObject({
      status: 2,
      stderr: `dibs: ${wanted} (DIBS_URL, DIBS_KEY, DIBS_KEY_FILE)\n`,
    });
    const work = dibs(['work', 'mail', '--', 'true'], { DIBS_URL: address });
    expect(work).toMatchObject({
      status: 2,
      stderr: `dibs: ${wanted} (DIBS_URL, DIBS_KEY, DIBS_KEY_FILE)\n`,
    });
    const byContext = dibs(['context', 'set', 'prod', '--url', address], { DIBS_CONFIG: '/nowhere/at/all' });
    expect(byContext).toMatchObject({ status: 2, stderr: `dibs: ${wanted} (--url)\n` });
  },
);

test.each(['export', 'export -'])(
  'dibs %s to a terminal is refused: text of jobs could control it',
  async (args) => {
    const command = `exec ${process.execPath} dist/main.js ${args}`;
    const { status, screen } = await onTerminal(command, { DATABASE_URL: '' }, async () => undefined);
    expect({ status, screen }).toMatchObject({
      status: 2,
      screen: expect.stringContaining('dibs: dibs export writes to no terminal: give it a FILE, or a pipe.'),
    });
  },
);
