import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { bearer, withKeys } from '../support/keys.ts';
import { filesOf, type PageFile, sectionOf } from '../support/pageFiles.ts';
import { served } from '../support/served.ts';
import { type Service, startService } from '../support/service.ts';
import { ROOT, textOf } from '../support/sources.ts';
import { until } from '../support/until.ts';

/** Something on a page that is run: a producer, and a worker. */
interface Example {
  name: string;
  files: PageFile[];
  needs: string[];
  /** The commands, as the page has them. */
  produce: string;
  work: string;
  /** What comes before them. The page says it for a user, who is not in this folder. */
  setup?: string;
  /** Instead of the commands of the page, which compile each time. */
  compiled?: { produce: string; work: string };
}

const PAGE = 'docs/quickstarts.md';
const GSON = '/usr/share/java/gson.jar';
const GO_MODULE = 'dibs.example/dibs';

const quickStart = (heading: string, rest: Omit<Example, 'name' | 'files'>): Example => {
  const section = sectionOf(PAGE, heading);
  expect(section).toContain(rest.produce);
  expect(section).toContain(rest.work);
  return { name: heading, files: filesOf(section), ...rest };
};

const DIBS_WORK = 'dibs work mail --concurrency 4 --result --';
const bash = quickStart('bash', {
  needs: ['bash', 'curl', 'jq'],
  produce: 'bash producer.sh',
  work: `${DIBS_WORK} bash work.sh`,
});
const ruby = quickStart('Ruby', { needs: ['ruby'], produce: 'ruby producer.rb', work: 'ruby worker.rb' });

const quick = [
  bash,
  { ...bash, ...quickStart('bash with curl alone', { needs: bash.needs, produce: '', work: 'bash worker.sh' }) },
  quickStart('Python', { needs: ['python3'], produce: 'python3 producer.py', work: 'python3 worker.py' }),
  quickStart('TypeScript', {
    needs: [],
    setup: `${ROOT}node_modules/.bin/tsc -p .`,
    produce: 'node producer.ts',
    work: 'node worker.ts',
    compiled: { produce: 'node producer.js', work: 'node worker.js' },
  }),
  quickStart('PHP', { needs: ['php'], produce: 'php producer.php', work: 'php worker.php' }),
  ruby,
].map((example) =>
  example.produce === ''
    ? { ...example, produce: bash.produce, files: [...bash.files, ...example.files] }
    : example,
);

/** Their compilers take longer than all the others together. */
const slow = [
  quickStart('Go', {
    needs: ['go'],
    setup: `go mod init example && go mod edit -require ${GO_MODULE}@v0.0.0 -replace ${GO_MODULE}=${ROOT}clients/go && go build -o bin/ ./producer ./worker`,
    produce: 'go run ./producer',
    work: 'go run ./worker',
    compiled: { produce: 'bin/producer', work: 'bin/worker' },
  }),
  quickStart('Java', {
    needs: ['java', GSON],
    produce: 'java -cp gson.jar Producer.java',
    work: 'java -cp gson.jar Worker.java',
    compiled: { produce: `java -cp ${GSON} Producer.java`, work: `java -cp ${GSON} Worker.java` },
  }),
  quickStart('Rust', {
    needs: ['rustc'],
    setup: 'rustc producer.rs && rustc work.rs',
    produce: './producer',
    work: `${DIBS_WORK} ./work`,
  }),
];

const comingFrom = (tool: string, rest: Omit<Example, 'name' | 'files'> & { beside?: PageFile[] }): Example => {
  const page = `docs/coming-from/${tool}.md`;
  expect(textOf(page)).toContain(rest.work);
  return { name: `coming from ${tool}`, files: [...filesOf(textOf(page)), ...(rest.beside ?? [])], ...rest };
};

const moved = [
  comingFrom('sqs', { needs: ['python3'], produce: 'python3 shop.py', work: 'python3 worker.py' }),
  comingFrom('celery', { needs: ['python3'], produce: 'python3 shop.py', work: 'python3 worker.py' }),
  comingFrom('sidekiq', {
    needs: ['ruby'],
    beside: ruby.files.filter((file) => file.name === 'dibs.rb'),
    produce: 'ruby shop.rb',
    work: 'dibs work mail --concurrency 5 --result -- ruby welcome.rb',
  }),
  comingFrom('bullmq', { needs: [], produce: 'node shop.mjs', work: 'node worker.mjs' }),
  comingFrom('pg-boss', { needs: [], produce: 'node shop.mjs', work: 'node worker.mjs' }),
];

const has = (tool: string) =>
  tool.startsWith('/') ? existsSync(tool) : spawnSync('which', [tool], { stdio: 'ignore' }).status === 0;

/** Why this machine does not run it. What is not run is said. */
function reasonToSkip({ name, needs }: Example): string | undefined {
  const missing = needs.filter((tool) => !has(tool));
  let reason = missing.length > 0 ? `this machine lacks ${missing.join(' and ')}` : undefined;
  if (slow.some((one) => one.name === name) && process.env.QUICKSTARTS !== 'all')
    reason = '`npm run test:quickstarts` runs it';
  if (reason) console.warn(`Skipping ${name}: ${reason}`);
  return reason;
}

let service: Service;
let folder: string;
let env: Record<string, string | undefined>;
let admin: Record<string, string>;

beforeAll(async () => {
  service = await startService({ auth: 'keys' });
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
  // As it is installed: its package.json, and what its build makes.
  const library = `${folder}/node_modules/dibs-client`;
  await mkdir(library, { recursive: true });
  await copyFile(`${ROOT}clients/typescript/package.json`, `${library}/package.json`);
  await sh(`${ROOT}node_modules/.bin/tsc -p ${ROOT}clients/typescript --outDir ${library}/dist`, folder);
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
    const compilerOptions = {
      module: 'nodenext',
      target: 'es2022',
      strict: true,
      types: ['node'],
      typeRoots: [`${ROOT}node_modules/@types`],
    };
    await writeFile(join(home, 'tsconfig.json'), JSON.stringify({ compilerOptions }));
    await writeFile(join(home, 'package.json'), '{"type": "module"}');
  }
  await call('PUT', `/queues/${queue}`, { retention_seconds: 3600, lease_seconds });
  if (example.setup) await sh(example.setup, home);
  const { produce, work } = example.compiled ?? example;
  const { stdout } = await sh(named(produce), home);
  const { jobs } = (await call('GET', `/jobs?queue=${queue}`)).body;
  expect(jobs).toHaveLength(1);
  expect(stdout).toContain(jobs[0].id);
  return { queue, home, first: jobs[0].id as string, work: named(work) };
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
    await until(async () => {
      if (hasEnded(child)) throw new Error(`The worker ended: ${said()}`);
      return look();
    }, { withinMs: 120_000, everyMs: 100 });
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
    test.skipIf(reason)(`${example.name}${reason ? `: skipped, because ${reason}` : ''}`, async ({ expect }) => {
      const { queue, home, first, work } = await prepare(example, 3);
      const enqueue = async (fields: object) =>
        (await call('POST', '/jobs', { queue, ...fields })).body.id as string;
      const long = await enqueue({ payload: { seconds: 5 } });
      const bad = await enqueue({ payload: null, max_attempts: 1 });
      // The ends of each lease of the long job. It is longer than a lease.
      const ends = new Map<number, Set<string>>();
      await whileWorking(work, home, async () => {
        const { state, deliveries, lease_expires_at } = await job(long);
        if (state === 'leased') ends.set(deliveries, (ends.get(deliveries) ?? new Set()).add(lease_expires_at));
        return state === 'completed' && (await job(bad)).state === 'dead' && (await job(first)).state === 'completed';
      });
      expect(Math.max(...[...ends.values()].map((of) => of.size))).toBeGreaterThan(1);
      expect((await job(first)).result).toHaveProperty('slept');
      expect((await job(bad)).last_error).toBeTruthy();
      expect((await call('GET', `/queues/${queue}`)).body.counts.leased).toBe(0);
    });
  }
});

describe.concurrent('docs/coming-from', () => {
  for (const example of moved) {
    const reason = reasonToSkip(example);
    test.skipIf(reason)(`${example.name}${reason ? `: skipped, because ${reason}` : ''}`, async ({ expect }) => {
      const { home, first, work } = await prepare(example, 30);
      await whileWorking(work, home, async () => (await job(first)).state === 'completed');
      expect((await job(first)).result).toBe('welcomed ada@example.com');
    });
  }

  test.each(['celery', 'bullmq'])('a worker of %s is replaced by one of at most 15 lines', (tool) => {
    const worker = filesOf(textOf(`docs/coming-from/${tool}.md`)).find(({ name }) => name.startsWith('worker.'));
    expect(worker?.text.trimEnd().split('\n').length).toBeLessThanOrEqual(15);
  });
});
