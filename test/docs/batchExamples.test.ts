import { execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { installLibrary, tsConfig } from '../support/clientLibrary.ts';
import { filesOf, sectionOf } from '../support/pageFiles.ts';
import { served } from '../support/served.ts';
import { type Service, startService } from '../support/service.ts';
import { ROOT } from '../support/sources.ts';

const GO_MODULE = 'dibs.example/dibs';

/** How the two programs of each README are run. */
const languages = {
  typescript: {
    tool: 'node',
    setup: `${ROOT}node_modules/.bin/tsc -p .`,
    ...{ issue: 'node issue.js', pages: 'node pages.js' },
  },
  python: { tool: 'python3', setup: 'true', issue: 'python3 issue.py', pages: 'python3 pages.py' },
  go: {
    tool: 'go',
    setup: [
      'go mod init example',
      `go mod edit -require ${GO_MODULE}@v0.0.0 -replace ${GO_MODULE}=${ROOT}clients/go`,
      'go build -o bin/ ./issue ./pages',
    ].join(' && '),
    ...{ issue: 'bin/issue', pages: 'bin/pages' },
  },
};
type Language = keyof typeof languages;

let service: Service;
let folder: string;
let env: NodeJS.ProcessEnv;

beforeAll(async () => {
  service = await startService();
  folder = await mkdtemp(join(tmpdir(), 'dibs-batch-examples-'));
  env = { ...process.env, DIBS_URL: await service.listen(), PYTHONPATH: `${ROOT}clients/python/src` };
});
afterAll(async () => {
  await service.stop();
  await rm(folder, { recursive: true, force: true });
});

/** A project of the files that the README has. */
async function prepare(language: Language): Promise<string> {
  const home = join(folder, language);
  const files = filesOf(sectionOf(`clients/${language}/README.md`, 'Batches'));
  expect(files).toHaveLength(2);
  for (const { name, text } of files) {
    await mkdir(dirname(join(home, name)), { recursive: true });
    await writeFile(join(home, name), text);
  }
  if (language === 'typescript') {
    await installLibrary(home);
    await writeFile(join(home, 'tsconfig.json'), tsConfig);
    await writeFile(join(home, 'package.json'), '{"type": "module"}');
  }
  await promisify(execFile)('bash', ['-c', languages[language].setup], { cwd: home, env }).catch(
    ({ stdout, stderr }) => {
      throw new Error(`${stdout}\n${stderr}`);
    },
  );
  return home;
}

const books = async (): Promise<unknown[]> =>
  (await served(() => service.call('GET', '/jobs?queue=books&include=payload'))).body.jobs;

describe.each(Object.keys(languages) as Language[])('the batch of clients/%s/README.md', (language) => {
  const { tool, issue, pages } = languages[language];
  const isMissing = spawnSync('which', [tool], { stdio: 'ignore' }).status !== 0;

  test.skipIf(isMissing)(
    `is filled by its producer and its worker, succeeds, and is followed once${isMissing ? ` (skipped: no ${tool} on this machine)` : ''}`,
    async () => {
      const home = await prepare(language);
      const before = await books();
      const worker = spawn('bash', ['-c', `exec ${pages}`], { cwd: home, env, stdio: 'inherit' });
      const ended = once(worker, 'close');
      try {
        const { stdout } = await promisify(execFile)('bash', ['-c', issue], { cwd: home, env });
        expect(stdout).toBe('succeeded 4\n');
        const [book, ...others] = await books();
        expect(others).toEqual(before);
        expect(book).toMatchObject({ payload: 'issue 12', state: 'ready' });
        worker.kill('SIGTERM');
        expect(await ended).toEqual([0, null]);
      } finally {
        worker.kill('SIGKILL');
      }
    },
  );
});
