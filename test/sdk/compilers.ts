import { readdir } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { cached, fingerprint, run } from './support.ts';

export const pipInstall = (to: string, ...what: string[]) =>
  run('python3', ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--target', to, ...what]);

export async function goBuild(folder: string): Promise<string> {
  const env = { GOFLAGS: '-mod=mod', GOWORK: 'off' };
  await run('go', ['vet', './...'], { cwd: folder, env });
  await run('go', ['build', '-o', 'cycle', '.'], { cwd: folder, env });
  return join(folder, 'cycle');
}

/** All Rust clients share what they compiled of other crates. */
export async function cargoBuild(folder: string, program: string): Promise<string> {
  const target = await cached('cargo', async () => undefined);
  const env = { CARGO_TARGET_DIR: target, CARGO_PROFILE_DEV_DEBUG: '0' };
  await run('cargo', ['build', '--quiet'], { cwd: folder, env });
  return join(target, 'debug', program);
}

/** The jars that a pom names. */
export const jarsOf = (pom: string): Promise<string> =>
  cached(`all-jars-${fingerprint(pom)}`, (to) => {
    const goal = ['dependency:copy-dependencies', `-DoutputDirectory=${to}`];
    return run('mvn', ['-q', '-B', '-f', pom, ...goal]);
  });

export async function javac(sources: string, cycle: string, classes: string, jars: string): Promise<void> {
  const names = await readdir(sources, { recursive: true });
  const files = names.filter((name) => name.endsWith('.java')).map((name) => join(sources, name));
  const options = ['-nowarn', '-encoding', 'UTF-8', '-d', classes, '-cp', join(jars, '*')];
  await run('javac', [...options, ...files, cycle]);
}

/** The compiler is among the jars. It takes no wildcard in the class path of what it compiles. */
export async function kotlinc(sources: string, cycle: string, jar: string, jars: string): Promise<void> {
  const names = (await readdir(jars)).filter((name) => name.endsWith('.jar'));
  const classPath = names.map((name) => join(jars, name)).join(delimiter);
  const compiler = ['-cp', join(jars, '*'), 'org.jetbrains.kotlin.cli.jvm.K2JVMCompiler'];
  const options = ['-no-stdlib', '-no-reflect', '-nowarn', '-d', jar, '-cp', classPath];
  await run('java', [...compiler, ...options, sources, cycle]);
}
