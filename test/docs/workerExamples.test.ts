import { execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { installLibrary, tsConfig } from '../support/clientLibrary.ts';
import { type PrintedSpan, spanPrinters } from '../support/openTelemetry.ts';
import { filesOf, sectionOf } from '../support/pageFiles.ts';
import { served } from '../support/served.ts';
import { type Service, startService } from '../support/service.ts';
import { ROOT } from '../support/sources.ts';
import { until } from '../support/until.ts';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const CALLER = 'b7ad6b7169203331';

const GO_MODULES = { 'dibs.example/dibs': `${ROOT}clients/go`, 'go.opentelemetry.io/otel': './otel' };

/** The worker of each README. `bad` is a payload that its handler fails at. */
const workers = {
  typescript: {
    tool: 'node',
    setup: `${ROOT}node_modules/.bin/tsc -p .`,
    work: 'node --import ./sdk.mjs worker.js',
    bad: null,
    counts: ['"mail ack":1', '"mail nack":1'],
  },
  python: {
    tool: 'python3',
    setup: 'true',
    work: 'python3 worker.py',
    bad: null,
    counts: ["('mail', 'ack'): 1", "('mail', 'nack'): 1"],
  },
  go: {
    tool: 'go',
    setup: [
      'go mod init example',
      ...Object.entries(GO_MODULES).map(
        ([name, folder]) => `go mod edit -require ${name}@v0.0.0 -replace ${name}=${folder}`,
      ),
      'go build -o worker .',
    ].join(' && '),
    work: './worker',
    bad: [],
    counts: ['\\"mail ack\\": 1', '\\"mail nack\\": 1'],
  },
};
type Language = keyof typeof workers;

let service: Service;
let folder: string;
let env: NodeJS.ProcessEnv;

beforeAll(async () => {
  service = await startService();
  await served(() => service.call('PUT', '/queues/mail', { retention_seconds: 3600 }));
  folder = await mkdtemp(join(tmpdir(), 'dibs-worker-examples-'));
  env = { ...process.env, DIBS_URL: await service.listen(), PYTHONPATH: `${ROOT}clients/python/src` };
});
afterAll(async () => {
  await service.stop();
  await rm(folder, { recursive: true, force: true });
});

/** A project of the files that the README has, and what prints the spans. */
async function prepare(language: Language): Promise<string> {
  const home = join(folder, language);
  const examples = filesOf(sectionOf(`clients/${language}/README.md`, 'What it tells'));
  expect(examples).toHaveLength(3);
  for (const { name, text } of [...examples, ...spanPrinters[language]]) {
    await mkdir(dirname(join(home, name)), { recursive: true });
    await writeFile(join(home, name), text);
  }
  if (language === 'typescript') {
    await installLibrary(home);
    await symlink(`${ROOT}node_modules/@opentelemetry`, `${home}/node_modules/@opentelemetry`);
    await writeFile(join(home, 'tsconfig.json'), tsConfig);
    await writeFile(join(home, 'package.json'), '{"type": "module"}');
  }
  await promisify(execFile)('bash', ['-c', workers[language].setup], { cwd: home, env }).catch(
    ({ stdout, stderr }) => {
      throw new Error(`${stdout}\n${stderr}`);
    },
  );
  return home;
}

async function enqueue(payload: unknown): Promise<string> {
  const job = { queue: 'mail', payload, max_attempts: 1 };
  const headers = { traceparent: `00-${TRACE}-${CALLER}-01` };
  return (await served(() => service.call('POST', '/jobs', job, headers))).body.id;
}

const stateOf = async (id: string) => (await served(() => service.call('GET', `/jobs/${id}`))).body.state;

/** Runs the worker until the jobs are there where they should be, stops it as a deploy does, and returns what it said. */
async function whatItSays(command: string, cwd: string, ends: Record<string, string>): Promise<string> {
  const child = spawn('bash', ['-c', `exec ${command}`], { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
  const ended = once(child, 'close');
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk) => {
      said += chunk;
    });
  try {
    for (const [id, state] of Object.entries(ends))
      await until(
        async () => {
          if (child.exitCode !== null) throw new Error('The worker ended.');
          return (await stateOf(id)) === state;
        },
        { everyMs: 100, what: `a job that is ${state}` },
      );
    child.kill('SIGTERM');
    expect(await ended).toEqual([0, null]);
    return said;
  } catch (error) {
    throw new Error(`${error}\nThe worker said: ${said}`);
  } finally {
    child.kill('SIGKILL');
    await ended;
  }
}

const spansIn = (said: string): PrintedSpan[] =>
  [...said.matchAll(/^span (.*)$/gm)].map((match) => JSON.parse(match[1] as string));

describe.each(Object.keys(workers) as Language[])('the worker of clients/%s/README.md', (language) => {
  const { tool, work, bad, counts } = workers[language];
  const isMissing = spawnSync('which', [tool], { stdio: 'ignore' }).status !== 0;

  test.skipIf(isMissing)(
    `logs and counts its jobs, and each span goes on from the request that enqueued${isMissing ? ` (skipped: no ${tool} on this machine)` : ''}`,
    async () => {
      const home = await prepare(language);
      const done = await enqueue({ to: 'ada@example.com' });
      const failed = await enqueue(bad);
      const said = await whatItSays(work, home, { [done]: 'completed', [failed]: 'dead' });

      const span = (id: string, failed: boolean): PrintedSpan => ({
        name: 'process mail',
        kind: 'CONSUMER',
        traceId: TRACE,
        parentSpanId: CALLER,
        attributes: {
          'messaging.system': 'dibs',
          'messaging.operation.name': 'process',
          'messaging.operation.type': 'process',
          'messaging.destination.name': 'mail',
          'messaging.message.id': id,
        },
        failed,
      });
      const spans = spansIn(said);
      expect(spans).toHaveLength(2);
      expect(spans).toEqual(expect.arrayContaining([span(done, false), span(failed, true)]));

      for (const id of [done, failed]) expect(said).toMatch(new RegExp(`job.${id} .*(took|seconds=)`));
      for (const count of counts) expect(said).toContain(count);
    },
  );
});
