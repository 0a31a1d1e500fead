import { spawnSync } from 'node:child_process';
import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { Cluster } from './cluster.ts';
import { errorCode } from './errors.ts';
import { bareEnv, type RunAs, shellSucceeds } from './user.ts';

export interface PidFile {
  /** 0 while the file is empty: it is just being written, or the machine lost power. */
  pid: number;
  port: number;
  /** The server accepts connections. */
  ready: boolean;
}

/** The largest number that PostgreSQL can read as a pid. No system has a process with this number. */
const nobody = 2147483647;

export function readPidFile({ data }: Cluster): PidFile | undefined {
  const lines = readLines(data);
  if (lines === undefined) return undefined;
  return { pid: pidIn(lines), port: Number(lines[3]) || 0, ready: lines[7]?.trim() === 'ready' };
}

/**
 * Makes a stale postmaster.pid harmless. PostgreSQL does so itself, but it refuses to start when the pid is that of
 * another process or of a zombie by now. Both are usual in containers. The rest of the file stays: it leads PostgreSQL
 * to the shared memory of the old server, and so to its backends that may still write.
 */
export function disarmPidFile({ data }: Cluster, pid: number): void {
  const lines = readLines(data);
  if (lines === undefined || pidIn(lines) !== pid) return;
  const path = join(data, 'postmaster.pid');
  if (pid === 0) rmSync(path, { force: true });
  else if (pid !== nobody) writeFileSync(path, [nobody, ...lines.slice(1)].join('\n'), { flag: 'r+' });
}

/** PostgreSQL in single-user mode writes its pid as a negative number. */
function pidIn(lines: string[]): number {
  return Math.abs(Number(lines[0]) || 0);
}

function readLines(data: string): string[] | undefined {
  try {
    return readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n');
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/** Whether this process is a PostgreSQL server that works on this directory. A zombie is not. */
export function isServerOf(pid: number, { data }: Cluster, user: RunAs | undefined): boolean {
  if (pid <= 0 || !exists(pid)) return false;
  return process.platform === 'linux' ? isLinuxServerOf(pid, data, user) : isOtherServerOf(pid, data);
}

function exists(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return errorCode(error) === 'EPERM';
  }
}

function isLinuxServerOf(pid: number, data: string, user: RunAs | undefined): boolean {
  try {
    if (readFileSync(`/proc/${pid}/comm`, 'utf8').trim() !== 'postgres') return false;
    // A server never leaves its data directory, even if the directory was renamed.
    const [cwd, ours] = [statSync(`/proc/${pid}/cwd`), statSync(data)];
    return cwd.ino === ours.ino && cwd.dev === ours.dev;
  } catch (error) {
    if (errorCode(error) !== 'EACCES' || user === undefined) return false;
    // Root without CAP_SYS_PTRACE, as in Docker, may not look. The user that the server runs as may.
    return shellSucceeds('test "$1" -ef .', [`/proc/${pid}/cwd`], user, data);
  }
}

function isOtherServerOf(pid: number, data: string): boolean {
  const ps = (column: string) =>
    spawnSync('ps', ['-ww', '-p', String(pid), '-o', `${column}=`], {
      env: bareEnv,
      encoding: 'utf8',
    }).stdout.trim();
  return (
    !ps('stat').startsWith('Z') && basename(ps('comm')) === 'postgres' && ps('args').includes(`-D ${data}`)
  );
}
