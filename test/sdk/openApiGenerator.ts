import { join } from 'node:path';
import { cargoBuild, csc, goBuild, jarsOf, javac, kotlinc, pipInstall } from './compilers.ts';
import type { Program, Sdk } from './sdks.ts';
import { cached, copyClient, document, emptyFolder, fingerprint, here, run, type Tool } from './support.ts';
import { buildTypeScript } from './typescript.ts';

const VERSION = '7.26.0';

/** OpenAPI Generator, from its package for Python. */
async function generate(language: string, to: string, options: string[]): Promise<void> {
  const packages = await cached(`openapi-generator-${VERSION}`, (to) =>
    pipInstall(to, `openapi-generator-cli==${VERSION}`),
  );
  const jar = join(packages, 'openapi_generator_cli/openapi-generator.jar');
  await run('java', ['-jar', jar, 'generate', '-g', language, '-i', document, '-o', to, ...options]);
}

const clients = join(here, 'clients');

/** A row of the table. `options` are names, which a user would give, too. */
function row(
  language: string,
  needs: Tool[],
  options: string[],
  compile: (folder: string) => Promise<Program>,
): Sdk {
  return {
    generator: `OpenAPI Generator: ${language}`,
    needs: ['java', 'python', 'pip', ...needs],
    async build() {
      const folder = await emptyFolder(language);
      await generate(language, join(folder, 'generated'), options);
      return compile(folder);
    },
  };
}

const python = row('python', [], ['--package-name', 'dibs_client'], async (folder) => {
  const requirements = join(folder, 'generated/requirements.txt');
  const version = (await run('python3', ['-c', 'import sys; print(sys.implementation.cache_tag)'])).trim();
  const packages = await cached(`${version}-${fingerprint(requirements)}`, (to) =>
    pipInstall(to, '-r', requirements),
  );
  const env = { PYTHONPATH: `${join(folder, 'generated')}:${packages}`, PYTHONDONTWRITEBYTECODE: '1' };
  return { command: 'python3', args: [join(clients, 'python/cycle.py')], env };
});

const goNames = ['--package-name', 'dibs', '--git-host', 'example.com', '--git-user-id', 'queue'];
const go = row('go', ['go'], [...goNames, '--git-repo-id', 'dibs'], async (folder) => {
  const cycle = join(folder, 'cycle');
  await copyClient('go', cycle);
  return { command: await goBuild(cycle) };
});

const javaPackages = [
  '--invoker-package',
  'dibs',
  '--api-package',
  'dibs.api',
  '--model-package',
  'dibs.model',
];
const java = row('java', ['javac', 'maven'], javaPackages, async (folder) => {
  const jars = await jarsOf(join(folder, 'generated/pom.xml'));
  const classes = join(folder, 'classes');
  await javac(join(folder, 'generated/src/main/java'), join(clients, 'java/Cycle.java'), classes, jars);
  return { command: 'java', args: ['-cp', `${classes}:${join(jars, '*')}`, 'Cycle'] };
});

const kotlin = row('kotlin', ['maven'], ['--package-name', 'dibs'], async (folder) => {
  const jars = await jarsOf(join(clients, 'kotlin/pom.xml'));
  const jar = join(folder, 'cycle.jar');
  await kotlinc(join(folder, 'generated/src/main/kotlin'), join(clients, 'kotlin/Cycle.kt'), jar, jars);
  return { command: 'java', args: ['-cp', `${jar}:${join(jars, '*')}`, 'CycleKt'] };
});

const php = row('php', ['php', 'guzzle'], ['--invoker-package', 'Dibs'], async (folder) => ({
  command: 'php',
  args: [join(clients, 'php/cycle.php'), join(folder, 'generated')],
}));

const rubyNames = ['--additional-properties', 'gemName=dibs_client,moduleName=Dibs'];
const ruby = row('ruby', ['ruby', 'typhoeus'], rubyNames, async (folder) => ({
  command: 'ruby',
  args: ['-I', join(folder, 'generated/lib'), join(clients, 'ruby/cycle.rb')],
}));

const rust = row('rust', ['rust 1.88'], ['--package-name', 'dibs_client'], async (folder) => {
  const cycle = join(folder, 'cycle');
  await copyClient('rust', cycle);
  return { command: await cargoBuild(cycle, 'rust-cycle') };
});

const typescriptFetch: Sdk = {
  generator: 'OpenAPI Generator: typescript-fetch',
  needs: ['java', 'python', 'pip'],
  build: () =>
    buildTypeScript(
      'typescript-fetch',
      (to) => generate('typescript-fetch', to, ['--additional-properties', 'importFileExtension=.js']),
      // What the generator writes does not check the places of arrays.
      ...['--noUncheckedIndexedAccess', 'false'],
    ),
};

// What is written for `net8.0` and later is newer than C# 8, which the compiler reads. One file needs Polly, which
// can't be had without NuGet.
const csharpOptions = ['--package-name', 'Dibs', '--additional-properties', 'targetFramework=netstandard2.1'];
const withoutPolly = [
  '--openapi-generator-ignore-list',
  'src/Dibs/Extensions/IHttpClientBuilderExtensions.cs',
];
const csharp = row('csharp', ['linux on x64'], [...csharpOptions, ...withoutPolly], async (folder) => {
  const cycle = join(folder, 'cycle');
  await copyClient('csharp', cycle);
  return csc(join(folder, 'generated/src/Dibs'), cycle);
});

export const openApiGenerator: Sdk[] = [
  { ...python, isQuick: true },
  typescriptFetch,
  go,
  java,
  kotlin,
  php,
  ruby,
  rust,
  csharp,
];
