import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, test } from 'vitest';
import {
  cached,
  copyClient,
  document,
  emptyFolder,
  here,
  needing,
  run,
  startServiceForClients,
} from './support.ts';

const VERSION = '7.26.0';

let service: Awaited<ReturnType<typeof startServiceForClients>>;
beforeAll(async () => {
  service = await startServiceForClients();
});
afterAll(() => service.stop());

const pipInstall = (to: string, ...what: string[]) =>
  run('python3', ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--target', to, ...what]);

/** OpenAPI Generator, from its package for Python. */
async function generatorJar(): Promise<string> {
  const packages = await cached(`openapi-generator-${VERSION}`, (to) =>
    pipInstall(to, `openapi-generator-cli==${VERSION}`),
  );
  return join(packages, 'openapi_generator_cli/openapi-generator.jar');
}

/** Generates a client. `names` are options that a user would give, too. */
async function generate(language: string, to: string, names: string[]): Promise<void> {
  const jar = await generatorJar();
  await run('java', ['-jar', jar, 'generate', '-g', language, '-i', document, '-o', to, ...names]);
}

const fingerprint = (file: string) =>
  createHash('sha256').update(readFileSync(file)).digest('hex').slice(0, 12);

const python = needing('a Python client goes through a whole cycle', ['python', 'pip', 'java']);
test.skipIf(python.isMissing)(python.name, async () => {
  const folder = await emptyFolder('python');
  await generate('python', folder, ['--package-name', 'dibs_client']);
  const requirements = join(folder, 'requirements.txt');
  const version = (await run('python3', ['-c', 'import sys; print(sys.implementation.cache_tag)'])).trim();
  const packages = await cached(`${version}-${fingerprint(requirements)}`, (to) =>
    pipInstall(to, '-r', requirements),
  );
  await service.goThrough('python3', [join(here, 'clients/python/cycle.py')], {
    env: { PYTHONPATH: `${folder}:${packages}`, PYTHONDONTWRITEBYTECODE: '1' },
  });
});

const go = needing('a Go client goes through a whole cycle', ['go', 'python', 'pip', 'java']);
test.skipIf(go.isMissing)(go.name, async () => {
  const folder = await emptyFolder('go');
  const names = ['--package-name', 'dibs', '--git-host', 'example.com', '--git-user-id', 'queue'];
  await generate('go', join(folder, 'generated'), [...names, '--git-repo-id', 'dibs']);
  const cycle = join(folder, 'cycle');
  await copyClient('go', cycle);
  const env = { GOFLAGS: '-mod=mod', GOWORK: 'off' };
  await run('go', ['vet', './...'], { cwd: cycle, env });
  await run('go', ['build', '-o', 'cycle', '.'], { cwd: cycle, env });
  await service.goThrough(join(cycle, 'cycle'), []);
});

const java = needing('a Java client goes through a whole cycle', ['java', 'javac', 'maven', 'python', 'pip']);
test.skipIf(java.isMissing)(java.name, async () => {
  const folder = await emptyFolder('java');
  const packages = [
    '--invoker-package',
    'dibs',
    '--api-package',
    'dibs.api',
    '--model-package',
    'dibs.model',
  ];
  await generate('java', folder, packages);
  const pom = join(folder, 'pom.xml');
  const jars = await cached(`java-${fingerprint(pom)}`, (to) =>
    run('mvn', [
      '-q',
      '-B',
      '-f',
      pom,
      'dependency:copy-dependencies',
      `-DoutputDirectory=${to}`,
      '-DincludeScope=compile',
    ]),
  );
  const sources = await readdir(join(folder, 'src/main/java'), { recursive: true });
  const files = sources
    .filter((name) => name.endsWith('.java'))
    .map((name) => join(folder, 'src/main/java', name));
  const classes = join(folder, 'classes');
  const cycle = join(here, 'clients/java/Cycle.java');
  await run('javac', [
    '-nowarn',
    '-encoding',
    'UTF-8',
    '-d',
    classes,
    '-cp',
    join(jars, '*'),
    ...files,
    cycle,
  ]);
  await service.goThrough('java', ['-cp', `${classes}:${join(jars, '*')}`, 'Cycle']);
});
