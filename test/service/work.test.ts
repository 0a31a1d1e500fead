import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { extendedIn, startProxy } from '../../clients/conformance/proxy.ts';
import { culpritOf } from '../../commands/program.ts';
import { UsageError } from '../../commands/usage.ts';
import { inherited } from '../../commands/workEnvironment.ts';
import { workSettings } from '../../commands/workSettings.ts';
import { type Service, startService } from '../support/service.ts';
import { until } from '../support/until.ts';

let service: Service;
let url: string;
let folder: string;
beforeAll(async () => {
  service = await startService();
  url = await service.listen();
  folder = await mkdtemp(join(tmpdir(), 'dibs-work-'));
});
afterAll(async () => {
  await service.stop();
  await rm(folder, { recursive: true, force: true });
});

/** `wrapper`: a command that starts the worker. */
async function start(
  queue: string,
  flags: string[],
  command: string[],
  wrapper: string[] = [],
  env: Record<string, string> = {},
) {
  await service.call('PUT', `/queues/${queue}`, { retention_seconds: 600 });
  const args = [...wrapper, process.execPath, 'dist/main.js', 'work', queue, ...flags, '--', ...command];
  const child = spawn(args[0] as string, args.slice(1), {
    env: { ...process.env, DIBS_URL: url, ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  child.stderr.on('data', (text) => {
    said += text;
  });
  const ended = once(child, 'close').then(([code]) => code as number);
  return {
    said: () => said,
    ended,
    signal: (name: NodeJS.Signals) => child.kill(name),
    async stop() {
      child.kill('SIGTERM');
      return ended;
    },
  };
}

const enqueue = async (queue: string, body: object = {}): Promise<string> =>
  (await service.call('POST', '/jobs', { queue, ...body })).body.id;
const job = async (id: string) => (await service.call('GET', `/jobs/${id}`)).body;
const reaches = (id: string, state: string) =>
  until(async () => (await job(id)).state === state, { everyMs: 100 });
const isAlive = (pid: number) => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

test('headers, the queue and the trace are in the environment, and text is a result', async () => {
  const worker = await start(
    'env',
    ['--result'],
    ['sh', '-c', 'echo $DIBS_QUEUE $DIBS_HEADER_X_TENANT $TRACEPARENT'],
  );
  const id = await enqueue('env', { headers: { 'x-tenant': 'acme', traceparent: '00-1-2-01' } });
  await reaches(id, 'completed');
  expect((await job(id)).result).toBe('env acme 00-1-2-01');
  expect(await worker.stop()).toBe(0);
});

test('after --timeout the command and its children are killed, and the job is failed', async () => {
  const file = join(folder, 'pid');
  const worker = await start('slow', ['--timeout', '1'], ['sh', '-c', `sleep 600 & echo $! > ${file}; wait`]);
  const id = await enqueue('slow', { max_attempts: 1 });
  await reaches(id, 'dead');
  expect((await job(id)).last_error).toContain('longer than 1 s');
  const pid = Number(await readFile(file, 'utf8'));
  await until(() => !isAlive(pid));
  await worker.stop();
});

describe('when no extend is answered until the lease is over', () => {
  /** A worker with a job, to which no extend comes back. */
  async function unheard(queue: string, command: string) {
    const proxy = await startProxy(url);
    let cuts = 0;
    proxy.harm((one) => {
      if (extendedIn(one).length === 0) return undefined;
      cuts++;
      return 'cut';
    });
    const flags = ['--lease-seconds', '1', '--stop-seconds', '1'];
    const worker = await start(queue, flags, ['sh', '-c', command], [], { DIBS_URL: proxy.url });
    const id = await enqueue(queue);
    // It is rescued, so its lease is over by every clock. It still has attempts, and a paused queue gives it to nobody.
    await reaches(id, 'leased');
    await service.call('POST', `/queues/${queue}/pause`);
    await reaches(id, 'ready');
    const before = cuts;
    await until(() => cuts > before + 2);
    return { id, proxy, worker };
  }

  test('the command goes on, and its end counts', async () => {
    const go = join(folder, 'go');
    const { id, proxy, worker } = await unheard('goes-on', `until [ -e ${go} ]; do sleep 0.1; done`);
    await writeFile(go, '');
    await reaches(id, 'completed');
    expect(await job(id)).toMatchObject({ attempt: 1, deliveries: 1 });
    await worker.stop();
    proxy.close();
  });

  test('the command ends when Dibs says that the lease is lost', async () => {
    const file = join(folder, 'lost');
    const { proxy, worker } = await unheard('goes-on-lost', `echo $$ > ${file}; exec sleep 600`);
    const pid = Number(await readFile(file, 'utf8'));
    expect(isAlive(pid)).toBe(true);
    proxy.harm(() => undefined);
    await until(() => !isAlive(pid));
    await worker.stop();
    proxy.close();
  });

  test('the command ends when the worker stops', async () => {
    const file = join(folder, 'stopped');
    const { id, proxy, worker } = await unheard('goes-on-stop', `echo $$ > ${file}; exec sleep 600`);
    const pid = Number(await readFile(file, 'utf8'));
    await worker.stop();
    expect(isAlive(pid)).toBe(false);
    expect(await job(id)).toMatchObject({ state: 'ready', deliveries: 1 });
    proxy.close();
  });
});

test('with --batch one command gets several jobs, and its end is the end of all', async () => {
  const file = join(folder, 'lines');
  const queue = 'batch';
  await service.call('PUT', `/queues/${queue}`, { retention_seconds: 600 });
  const ids = await Promise.all([1, 2, 3].map((n) => enqueue(queue, { payload: { n } })));
  const worker = await start(queue, ['--batch', '10'], ['sh', '-c', `echo run >> ${file}; cat >> ${file}`]);
  for (const id of ids) await reaches(id, 'completed');
  const [run, ...lines] = (await readFile(file, 'utf8')).trim().split('\n');
  expect(run).toBe('run');
  expect(
    lines
      .filter((line) => line !== 'run')
      .map((line) => JSON.parse(line).payload.n)
      .sort(),
  ).toEqual([1, 2, 3]);
  await worker.stop();
});

test('a job whose headers are too large for the environment has them in a file', async () => {
  const headers = Object.fromEntries(Array.from({ length: 32 }, (_, i) => [`h${i}`, '\u0001'.repeat(1024)]));
  const show = 'cat "$DIBS_HEADERS_FILE" | wc -c; echo "$DIBS_HEADERS" | wc -c; echo "$DIBS_HEADERS_FILE"';
  const large = await enqueue('large-headers', { headers });
  const small = await enqueue('large-headers', { headers: { tenant: 'acme' } });
  const worker = await start('large-headers', ['--result'], ['sh', '-c', show]);
  await reaches(large, 'completed');
  const [bytes, inEnvironment, file] = (await job(large)).result.split('\n');
  expect(Number(bytes)).toBe(JSON.stringify(headers).length);
  expect(Number(inEnvironment)).toBe(1);
  await until(() => !existsSync(file), { what: 'the end of the file' });
  await reaches(small, 'completed');
  expect(Number((await job(small)).result.split('\n')[1])).toBe('{"tenant":"acme"}\n'.length);
  expect(await worker.stop()).toBe(0);
});

test('a job that makes the environment too large is failed and charged, and the worker goes on', async () => {
  const headers = Object.fromEntries(Array.from({ length: 32 }, (_, i) => [`h${i}`, '😀'.repeat(1024)]));
  const large = await enqueue('too-large', { headers, max_attempts: 1 });
  const small = await enqueue('too-large');
  // A stack of 256 KiB leaves 128 KiB for the environment.
  const worker = await start('too-large', [], ['true'], ['sh', '-c', 'ulimit -s 256; exec "$@"', 'sh']);
  await reaches(small, 'completed');
  expect(await job(large)).toMatchObject({ state: 'dead', attempt: 1 });
  expect((await job(large)).last_error).toContain('E2BIG');
  expect(await worker.stop()).toBe(0);
});

test('what the machine is short of for a moment costs the job nothing', () => {
  for (const code of ['EAGAIN', 'ENOMEM', 'EMFILE', 'ENFILE', 'ETXTBSY'])
    expect(culpritOf(Object.assign(new Error(code), { code }), {})).toBe('the machine');
  for (const code of ['ENOENT', 'EACCES', 'ENOEXEC', 'E2BIG'])
    expect(culpritOf(Object.assign(new Error(code), { code }), {})).toBe('the command');
});

test('the headers of a job do not reach the jobs of a worker that its command starts', () => {
  const env = {
    DIBS_HEADERS: '{}',
    DIBS_HEADERS_FILE: 'f',
    DIBS_HEADER_TENANT: 'acme',
    DIBS_URL: 'u',
    PATH: 'p',
  };
  expect(inherited(env)).toEqual({ DIBS_URL: 'u', PATH: 'p' });
});

test('a time-out of 30 days kills nothing', async () => {
  const worker = await start('long-time-out', ['--timeout', '2592000'], ['sleep', '1']);
  const id = await enqueue('long-time-out', { max_attempts: 1 });
  await reaches(id, 'completed');
  expect(await worker.stop()).toBe(0);
});

describe('the end of a command counts, though a process that it left behind holds its output', () => {
  const behind = "setsid sleep 60 & echo $! > \"$0\"; echo 'its output'; echo 'its error' >&2; exit ";
  test.each([
    ['0', 'completed', { result: 'its output' }],
    ['3', 'dead', { last_error: expect.stringContaining('its error') }],
    ['100', 'dead', { last_error: expect.stringContaining('its error') }],
  ])('with %s', async (code, state, rest) => {
    const queue = `behind-${code}`;
    const file = join(folder, queue);
    const worker = await start(queue, ['--timeout', '4', '--result'], ['sh', '-c', behind + code, file]);
    const id = await enqueue(queue, { max_attempts: 1 });
    await reaches(id, state);
    expect(await job(id)).toMatchObject({ attempt: 1, ...rest });
    expect((await job(id)).last_error ?? '').not.toContain('longer than');
    expect(await worker.stop()).toBe(0);
    process.kill(Number(await readFile(file, 'utf8')), 'SIGKILL');
  });
});

test('all that a command says before its end is its result', async () => {
  const worker = await start('output', ['--result'], ['sh', '-c', 'head -c 60000 /dev/zero | tr "\\\\0" x']);
  const id = await enqueue('output');
  await reaches(id, 'completed');
  expect((await job(id)).result.length).toBe(60_000);
  await worker.stop();
});

test('a URL or key that cannot work is told, and the key is not shown', async () => {
  const unusable: Record<string, string>[] = [{ DIBS_URL: 'localhost:8080' }, { DIBS_KEY: 'top secret' }];
  for (const env of unusable) {
    const worker = await start('unusable', [], ['true'], [], env);
    expect(await worker.ended).toBe(2);
    expect(worker.said()).toMatch(/^dibs: (url|key) must /);
    expect(worker.said()).not.toContain('secret');
  }
});

test('a command that does not exist ends the worker, and its job is released', async () => {
  const worker = await start('missing', [], ['/no/such/command']);
  const id = await enqueue('missing');
  expect(await worker.ended).not.toBe(0);
  expect(worker.said()).toContain('cannot be run');
  expect(await job(id)).toMatchObject({ state: 'ready', attempt: 0 });
});

test('a command line that is wrong is told', () => {
  for (const args of [
    ['q'],
    ['--', 'x'],
    ['q', '--'],
    ['q', '--concurrency', 'many', '--', 'x'],
    ['q', '--no', '--', 'x'],
    ['q', '--timeout', '0', '--', 'x'],
  ])
    expect(() => workSettings(args), args.join(' ')).toThrow(UsageError);
  expect(workSettings(['a', 'b', '--batch', '5', '--', 'run', '--it'])).toMatchObject({
    queues: ['a', 'b'],
    batch: 5,
    command: ['run', '--it'],
  });
});

describe('what it tells on standard error', () => {
  const untilFailed = async (queue: string, flags: string[], env: Record<string, string> = {}) => {
    const worker = await start(
      queue,
      flags,
      ['sh', '-c', 'echo "no such customer" >&2; exit 1', 'topsecret'],
      [],
      env,
    );
    const id = await enqueue(queue, { max_attempts: 1, payload: 'topsecret', headers: { h: 'topsecret' } });
    await reaches(id, 'dead');
    expect(await worker.stop()).toBe(0);
    expect(worker.said()).not.toContain('topsecret');
    return { id, lines: worker.said().trim().split('\n') };
  };

  test('a line when it starts, one for each failure, and one for what it has done', async () => {
    const { id, lines } = await untilFailed('told', [
      '--name',
      'mailer',
      '--concurrency',
      '3',
      '--stop-seconds',
      '7',
    ]);
    expect(lines).toEqual([
      `dibs work: runs sh for jobs of told at ${url} as mailer, 3 at once`,
      'no such customer',
      `dibs work: job ${id} of queue told failed at attempt 1 of 1 and is dead: the command ended with 1: no such customer`,
      'dibs work: claims no more; commands may go on for 7 s',
      'dibs work: stopped: 0 done, 1 failed, 0 released',
    ]);
  });

  test.each([
    ['--json', ['--json'], {}],
    ['LOG_FORMAT=json', [], { LOG_FORMAT: 'json' }],
  ])('with %s they are JSON, as those of `dibs serve`', async (_, flags, env) => {
    const { id, lines } = await untilFailed(`told-${flags.length}`, flags, env);
    const [begun, , failed, , stopped] = lines.map((line) =>
      line.startsWith('{') ? JSON.parse(line) : line,
    );
    expect(begun).toMatchObject({
      level: 30,
      url,
      worker: expect.stringMatching(/:\d+$/),
      concurrency: 1,
      command: 'sh',
    });
    expect(failed).toMatchObject({ level: 50, job: id, attempt: 1, max_attempts: 1, next: 'is dead' });
    expect(stopped).toMatchObject({ done: 0, failed: 1, released: 0 });
  });

  test('another LOG_FORMAT is refused', async () => {
    const worker = await start('told-badly', [], ['true'], [], { LOG_FORMAT: 'xml' });
    expect(await worker.ended).toBe(2);
    expect(worker.said()).toContain('LOG_FORMAT must be json or text, not "xml"');
  });
});
