import { execFileSync } from 'node:child_process';
import { readFileSync, statfsSync } from 'node:fs';
import { arch, cpus, release, tmpdir, totalmem, type } from 'node:os';

const TMPFS = 0x01021994;

const firstLine = (command, ...args) => {
  try {
    return execFileSync(command, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).split(
      '\n',
    )[0];
  } catch (error) {
    // wrk prints its version and then fails for the missing URL.
    return String(error.stdout ?? '').split('\n')[0] || undefined;
  }
};

/** Where data goes: BENCH_DIR, else the system's temporary directory; it must be a real disk. */
export const workDir = () => process.env.BENCH_DIR || tmpdir();

function wrkVersion() {
  const line = firstLine('wrk', '--version');
  return line?.replace(/ Copyright.*/, '').replace(/^wrk /, '');
}

/** What must be known of the machine to repeat a run. */
export function describeMachine() {
  if (statfsSync(workDir()).type === TMPFS)
    throw new Error(
      `${workDir()} is in memory, where fsync costs nothing; set BENCH_DIR to a directory on a disk`,
    );
  const [cpu] = cpus();
  return {
    date: new Date().toISOString(),
    commit: firstLine('git', 'rev-parse', '--short', 'HEAD'),
    cpus: `${cpus().length} x ${cpu?.model.trim() ?? 'unknown'}`,
    memory: `${Math.round(totalmem() / 2 ** 30)} GiB`,
    system: `${type()} ${release()} ${arch()}`,
    node: process.version,
    dibs: JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')).version,
    wrk: wrkVersion(),
    pgbench: firstLine('pgbench', '--version'),
  };
}
