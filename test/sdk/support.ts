import { execFile, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { cp, mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'vitest';
import { startService } from '../support/service.ts';

export const here = import.meta.dirname;
export const document = join(here, '../../openapi/openapi.json');
export const document30 = join(here, '../../openapi/openapi-3.0.json');

/** Downloads and generated code. The next run uses the downloads again. */
const work = join(here, '.work');

/** Runs a program and returns what it printed. @throws with all that it printed, when it fails. */
export async function run(
  program: string,
  args: string[],
  options: { cwd?: string; env?: Record<string, string> } = {},
): Promise<string> {
  const env = { ...process.env, ...options.env };
  try {
    const { stdout } = await promisify(execFile)(program, args, { ...options, env, maxBuffer: 2 ** 26 });
    return stdout;
  } catch (error) {
    const { stdout, stderr } = error as { stdout?: string; stderr?: string };
    throw new Error(`${program} ${args.join(' ')} failed:\n${stdout}\n${stderr}`, { cause: error });
  }
}

/** For each tool, a command that fails where the tool is missing. */
const TOOLS = {
  java: ['java', '-version'],
  javac: ['javac', '-version'],
  maven: ['mvn', '--version'],
  python: ['python3', '--version'],
  pip: ['python3', '-m', 'pip', '--version'],
  go: ['go', 'version'],
  php: ['php', '--version'],
  guzzle: ['php', '-r', "require 'GuzzleHttp/autoload.php';"],
  ruby: ['ruby', '--version'],
  'linux on x64': ['sh', '-c', 'test "$(uname -sm)" = "Linux x86_64"'],
  typhoeus: ['ruby', '-e', "require 'typhoeus'"],
  'rust 1.88': [
    'sh',
    '-c',
    String.raw`printf '1.88\n%s\n' "$(cargo --version | cut -d' ' -f2)" | sort --check=quiet --version-sort`,
  ],
};
export type Tool = keyof typeof TOOLS;

/** The tools that this machine lacks. */
export const missing = (tools: Tool[]): Tool[] =>
  tools.filter((tool) => {
    const [program, ...args] = TOOLS[tool] as [string, ...string[]];
    return spawnSync(program, args, { stdio: 'ignore' }).status !== 0;
  });

export const fingerprint = (file: string) =>
  createHash('sha256').update(readFileSync(file)).digest('hex').slice(0, 12);

/** An empty folder for generated code. */
export async function emptyFolder(name: string): Promise<string> {
  const folder = join(work, name);
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  return folder;
}

/** Copies a client's own code beside the generated code. */
export const copyClient = (name: string, to: string) =>
  cp(join(here, 'clients', name), to, { recursive: true });

/** The folder that `fetch` fills. It is called only when no earlier run has filled the folder. */
export async function cached(name: string, fetch: (folder: string) => Promise<unknown>): Promise<string> {
  const folder = join(work, 'cache', name);
  const done = join(folder, '.done');
  if (existsSync(done)) return folder;
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  await fetch(folder);
  await mkdir(done);
  return folder;
}

const DONE_BY_EVERY_CLIENT = [
  'ackJob',
  'claimJobs',
  'closeBatch',
  'configureQueue',
  'createBatch',
  'enqueueJob',
  'enqueueJobs',
  'extendLease',
  'getBatch',
  'getJob',
  'getQueue',
  'listJobs',
  'listQueues',
  'nackJob',
  'pauseQueue',
  'resumeQueue',
  'settleJobs',
];

/** The operations of the document, each with a pattern for its requests. */
function operations() {
  const { paths } = JSON.parse(readFileSync(document, 'utf8')) as {
    paths: Record<string, Record<string, { operationId: string }>>;
  };
  return Object.entries(paths)
    .flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, { operationId }]) => ({
        operationId,
        pattern: new RegExp(`^${method.toUpperCase()} ${path.replaceAll(/\{\w+\}/g, '[^/?]+')}(\\?|$)`),
        isLiteral: !path.includes('{'),
      })),
    )
    .sort((a, b) => Number(b.isLiteral) - Number(a.isLiteral));
}

/** A service on a real socket, for clients that run a whole cycle. */
export async function startServiceForClients() {
  const service = await startService();
  const url = await service.listen();
  const known = operations();
  const seen = new Set<string | undefined>();
  service.app.server.on('request', ({ method, url }) => {
    seen.add(known.find(({ pattern }) => pattern.test(`${method} ${url}`))?.operationId);
  });
  return {
    stop: service.stop,
    /** Runs a client. It must call every operation of the cycle and report that it is done. */
    async goThrough(program: string, args: string[], options: Parameters<typeof run>[2] = {}) {
      seen.clear();
      expect(await run(program, [...args, url], options)).toContain('the cycle is done');
      expect([...seen].sort()).toEqual(DONE_BY_EVERY_CLIENT);
    },
  };
}
