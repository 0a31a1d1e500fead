import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { UsageError } from '../../commands/usage.ts';
import { workSettings } from '../../commands/work.ts';
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

async function start(queue: string, flags: string[], command: string[]) {
  await service.call('PUT', `/queues/${queue}`, { retention_seconds: 600 });
  const args = ['dist/main.js', 'work', queue, ...flags, '--', ...command];
  const child = spawn(process.execPath, args, {
    env: { ...process.env, DIBS_URL: url },
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
  ])
    expect(() => workSettings(args), args.join(' ')).toThrow(UsageError);
  expect(workSettings(['a', 'b', '--batch', '5', '--', 'run', '--it'])).toMatchObject({
    queues: ['a', 'b'],
    batch: 5,
    command: ['run', '--it'],
  });
});
