import { chmod, cp, lstat, mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EmbeddedError, instead, messageOf } from './errors.ts';

interface Copy {
  native: string;
  version: string;
  log: (message: string) => void;
  /** Why the binaries in a directory can't be used, or undefined. */
  check: (native: string) => string | undefined;
}

/** For root, when the postgres user can't enter the installation: copies the binaries once, for everybody to read. */
export async function copyBinaries(wanted: Copy): Promise<string> {
  const failures: string[] = [];
  for (const base of ['/var/lib/dibs', join(tmpdir(), 'dibs-postgresql')]) {
    try {
      return await copyTo(base, wanted);
    } catch (error) {
      failures.push(`${base}: ${messageOf(error)}`);
    }
  }
  throw new EmbeddedError(
    `The user that PostgreSQL runs as can't use the binaries in ${wanted.native}, and they could not be copied elsewhere (${failures.join('; ')}). Install Dibs where every user may read it, or run it as another user than root. ${instead}`,
  );
}

async function copyTo(base: string, { native, version, log, check }: Copy): Promise<string> {
  await mkdir(base, { recursive: true, mode: 0o755 });
  await assertOnlyRootWrites(base);
  const target = join(base, `postgresql-${version}-${process.arch}`);
  if (check(target) === undefined) return target;

  const fresh = await mkdtemp(`${target}.copy-`);
  try {
    await cp(native, fresh, { recursive: true, verbatimSymlinks: true });
    await openToAll(fresh);
    const problem = check(fresh);
    if (problem !== undefined) throw new Error(problem);
    await putInPlace(fresh, target, check);
  } finally {
    await rm(fresh, { recursive: true, force: true });
  }
  log(
    `copied the PostgreSQL binaries to ${target}: the user that PostgreSQL runs as can't use those in ${native}`,
  );
  return target;
}

async function putInPlace(fresh: string, target: string, check: Copy['check']): Promise<void> {
  try {
    await rename(fresh, target);
  } catch (error) {
    // Another service was quicker, or a cleaner of temporary files has left half a copy there.
    if (check(target) === undefined) return;
    await rm(target, { recursive: true, force: true });
    await rename(fresh, target).catch(() => {
      throw error;
    });
  }
}

/** Programs run from here, so only root may put files there. In /tmp, another user may have made the directory. */
async function assertOnlyRootWrites(dir: string): Promise<void> {
  const found = await lstat(dir);
  if (!found.isDirectory() || found.uid !== 0 || (found.mode & 0o022) !== 0) {
    throw new Error('it is not a directory that only root may write to');
  }
}

async function openToAll(dir: string): Promise<void> {
  await chmod(dir, 0o755);
  for (const entry of await readdir(dir, { withFileTypes: true })) {
    const path = join(dir, entry.name);
    if (entry.isDirectory()) await openToAll(path);
    else if (entry.isFile()) await chmod(path, (await lstat(path)).mode & 0o100 ? 0o755 : 0o644);
  }
}
