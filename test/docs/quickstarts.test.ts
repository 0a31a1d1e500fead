import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { installLibrary, tsConfig } from '../support/clientLibrary.ts';
import { bearer, withKeys } from '../support/keys.ts';
import { type Example, moved, quick, reasonToSkip, slow } from '../support/pageExamples.ts';
import { filesOf } from '../support/pageFiles.ts';
import { served } from '../support/served.ts';
import { type Service, startService } from '../support/service.ts';
import { ROOT, textOf } from '../support/sources.ts';
import { until } from '../support/until.ts';

let service: Service;
let folder: string;
let env: Record<string, string | undefined>;
let admin: Record<string, string>;

beforeAll(async () => {
  service = await startService();
  const keys = await withKeys(service);
  const { key } = await keys.create({ name: 'shop', scopes: ['produce', 'consume'] });
  admin = bearer(keys.admin);
  folder = await mkdtemp(join(tmpdir(), 'dibs-quickstarts-'));
  env = {
    ...process.env,
    DIBS_URL: await service.listen(),
    DIBS_KEY: key,
    PATH: `${folder}/bin:${process.env.PATH}`,
    PYTHONPATH: `${ROOT}clients/python/src`,
  };
  await mkdir(`${folder}/bin`);
  await writeFile(`${folder}/bin/dibs`, `#!/bin/sh\nexec node '${ROOT}dist/main.js' "$@"\n`);
  await chmod(`${folder}/bin/dibs`, 0o755);
  await installLibrary(folder);
});
afterAll(async () => {
  await service.stop();
  await rm(folder, { recursive: true, force: true });
});

const sh = (command: string, cwd: string) =>
  promisify(execFile)('bash', ['-c', command], { cwd, env: env as NodeJS.ProcessEnv });

const call = (...request: Parameters<Service['call']>) => {
  const [method, path, body, headers] = request;
  return served(() => service.call(method, path, body, { ...admin, ...headers }));
};

/** Writes the files of an example, and runs its producer. All examples share a service, so each has a queue of its own. */
async function prepare(example: Example, lease_seconds: number) {
  const queue = `mail-${example.name.toLowerCase().replaceAll(/\W+/g, '-')}`;
  const named = (text: string) => text.replaceAll(/(?<=["' ])mail(?=["'\\ ])/g, queue);
  const home = join(folder, queue);
  await mkdir(home);
  for (const { name, text } of example.files) {
    await mkdir(dirname(join(home, name)), { recursive: true });
    await writeFile(join(home, name), named(text));
  }
  if (example.name === 'TypeScript') {
    await writeFile(join(home, 'tsconfig.json'), tsConfig);
    await writeFile(join(home, 'package.json'), '{"type": "module"}');
  }
  await call('PUT', `/queues/${queue}`, { retention_seconds: 3600, lease_seconds });
  if (example.setup) await sh(example.setup, home);
  const { produce, work } = example.compiled ?? example;
  // A producer gives up after a while. Where the database is slow for longer than that, it is started again.
  let failure: unknown;
  const produced = (): Promise<string | undefined> =>
    sh(named(produce), home).then(
      ({ stdout }) => stdout,
      (error) => {
        failure = error;
        return undefined;
      },
    );
  const stdout = await until(produced, { withinMs: 60_000, everyMs: 500 }).catch(() => {
    throw failure;
  });
  const { jobs } = (await call('GET', `/jobs?queue=${queue}`)).body;
  const first = jobs.map(({ id }: { id: string }) => id).find((id: string) => stdout.includes(id));
  expect(first).toBeDefined();
  return { queue, home, first, work: named(work) };
}

function startWorker(command: string, home: string) {
  const child = spawn('bash', ['-c', `exec ${command}`], {
    cwd: home,
    env: env as NodeJS.ProcessEnv,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk) => {
      said += chunk;
    });
  return { child, ended: once(child, 'exit'), said: () => said };
}

const job = async (id: string) => (await call('GET', `/jobs/${id}`)).body;

/** Runs the worker until `look` says that all is done, and then stops it as a deploy does. */
async function whileWorking(command: string, home: string, look: () => Promise<boolean>) {
  const { child, ended, said } = startWorker(command, home);
  try {
    await until(
      async () => {
        if (hasEnded(child)) throw new Error(`The worker ended: ${said()}`);
        return look();
      },
      { withinMs: 120_000, everyMs: 250 },
    );
    child.kill('SIGTERM');
    const [code, signal] = await ended;
    expect([0, 143, 'SIGTERM'], said()).toContain(signal ?? code);
  } catch (error) {
    throw new Error(`${error}\nThe worker said: ${said()}`);
  } finally {
    child.kill('SIGKILL');
  }
}

const hasEnded = (child: ChildProcess) => child.exitCode !== null || child.signalCode !== null;

describe.concurrent('docs/quickstarts.md', () => {
  for (const example of [...quick, ...slow]) {
    const reason = reasonToSkip(example);
    test.skipIf(reason)(
      `${example.name}${reason ? `: skipped, because ${reason}` : ''}`,
      async ({ expect }) => {
        const { queue, home, first, work } = await prepare(example, 3);
        const enqueue = async (fields: object) =>
          (await call('POST', '/jobs', { queue, ...fields })).body.id as string;
        const bad = await enqueue({ payload: null, max_attempts: 1 });
        // A job that takes longer than its lease. On a slow machine, the test may see no extend: then comes another one.
        let long = '';
        let ends = new Set<string>();
        const seesAnExtend = async () => {
          const { state, deliveries, lease_expires_at } = long ? await job(long) : { state: 'completed' };
          if (state === 'leased') ends.add(`${deliveries} ${lease_expires_at}`);
          const isExtended = ends.size > Number(deliveries);
          if (state === 'completed' && !isExtended) {
            ends = new Set();
            long = await enqueue({ payload: { seconds: 4 } });
          }
          return state === 'completed' && isExtended;
        };
        await whileWorking(
          work,
          home,
          async () =>
            (await seesAnExtend()) &&
            (await job(bad)).state === 'dead' &&
            (await job(first)).state === 'completed',
        );
        expect((await job(first)).result).toHaveProperty('slept');
        expect((await job(bad)).last_error).toBeTruthy();
        expect((await call('GET', `/queues/${queue}`)).body.counts.leased).toBe(0);
      },
    );
  }
});

test('each quick start that reads DIBS_URL does without it', () => {
  const readers = filesOf(textOf('docs/quickstarts.md')).filter(({ text }) => text.includes('DIBS_URL'));
  expect(readers.length).toBeGreaterThan(5);
  for (const { name, text } of readers) expect(text, name).toContain('http://127.0.0.1:8080');
});

describe.concurrent('docs/coming-from', () => {
  for (const example of moved) {
    const reason = reasonToSkip(example);
    test.skipIf(reason)(
      `${example.name}${reason ? `: skipped, because ${reason}` : ''}`,
      async ({ expect }) => {
        const { home, first, work } = await prepare(example, 30);
        await whileWorking(work, home, async () => (await job(first)).state === 'completed');
        expect((await job(first)).result).toBe('welcomed ada@example.com');
      },
    );
  }

  test.each(['celery', 'bullmq'])('a worker of %s is replaced by one of at most 15 lines', (tool) => {
    const worker = filesOf(textOf(`docs/coming-from/${tool}.md`)).find(({ name }) =>
      name.startsWith('worker.'),
    );
    expect(worker?.text.trimEnd().split('\n').length).toBeLessThanOrEqual(15);
  });
});
