import { execFileSync } from 'node:child_process';
import { readFileSync, statfsSync } from 'node:fs';
import { arch, cpus, release, tmpdir, totalmem, type } from 'node:os';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** The type that statfs gives of a file system in memory. */
const TMPFS = 0x01021994;

const firstLine = (command, ...args) => {
  try {
    return execFileSync(command, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).split(
      '\n',
    )[0];
  } catch (error) {
    // wrk prints its version, and then fails because no URL is given.
    return String(error.stdout ?? '').split('\n')[0] || undefined;
  }
};

/** The directory for data: BENCH_DIR, else the system's temporary directory. It must be on a real disk. */
export const workDir = () => process.env.BENCH_DIR || tmpdir();

function wrkVersion() {
  const line = firstLine('wrk', '--version');
  return line?.replace(/ Copyright.*/, '').replace(/^wrk /, '');
}

/** The commit of a checkout; undefined where git knows none. */
export const commitOf = (directory = ROOT) =>
  firstLine('git', '-C', directory, 'rev-parse', '--short', 'HEAD');

/** The facts about the machine that somebody needs to repeat a run. */
export function describeMachine() {
  if (statfsSync(workDir()).type === TMPFS)
    throw new Error(
      `${workDir()} is in memory, where fsync costs nothing: set BENCH_DIR to a directory on a disk`,
    );
  const [cpu] = cpus();
  return {
    date: new Date().toISOString(),
    commit: commitOf(),
    cpus: `${cpus().length} x ${cpu?.model.trim() ?? 'unknown'}`,
    memory: `${Math.round(totalmem() / 2 ** 30)} GiB`,
    system: `${type()} ${release()} ${arch()}`,
    node: process.version,
    dibs: JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')).version,
    wrk: wrkVersion(),
    pgbench: firstLine('pgbench', '--version'),
  };
}
