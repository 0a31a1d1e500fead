import { readdirSync, readFileSync } from 'node:fs';

/** Clock ticks of Linux, in which /proc counts CPU time: 100 a second on every common machine. */
const TICKS_PER_SECOND = 100;

/** What Linux tells of a process, from its state on: utime, stime, cutime and cstime are the 12th to the 15th field. */
function fieldsOf(pid) {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The name before them stands in parentheses and may hold spaces.
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
}

/** CPU time that a process has used, in seconds: its own code, and the kernel's for it. Of a process that ended, 0. */
export function cpuPartsOf(pid) {
  try {
    const fields = fieldsOf(pid);
    return { user: Number(fields[11]) / TICKS_PER_SECOND, system: Number(fields[12]) / TICKS_PER_SECOND };
  } catch {
    return { user: 0, system: 0 };
  }
}

/** CPU time that a process has used, in seconds: its own code and the kernel's. Of a process that ended, 0. */
export function cpuSecondsOf(pid) {
  const { user, system } = cpuPartsOf(pid);
  return user + system;
}

/** CPU time of the children of a process that have ended, in seconds. */
function endedChildrenCpu(pid) {
  const fields = fieldsOf(pid);
  return (Number(fields[13]) + Number(fields[14])) / TICKS_PER_SECOND;
}

/** CPU time that the whole machine has used, in seconds. */
export function machineCpu() {
  const [user, nice, system, , , irq, softirq] = readFileSync('/proc/stat', 'utf8')
    .split('\n')[0]
    .split(/ +/)
    .slice(1)
    .map(Number);
  return (user + nice + system + irq + softirq) / TICKS_PER_SECOND;
}

const isPostgres = (pid) => {
  try {
    return readFileSync(`/proc/${pid}/comm`, 'utf8').trim() === 'postgres';
  } catch {
    return false;
  }
};

/** The process that started a process. Undefined when that ended. */
export function parentOf(pid) {
  try {
    return Number(fieldsOf(pid)[1]);
  } catch {
    return undefined;
  }
}

/**
 * CPU time of each PostgreSQL process of the machine, in seconds, by its pid. With the pid of a server, of its processes
 * only.
 */
export const postgresCpu = (server) =>
  new Map(
    readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name) && isPostgres(name))
      .filter((pid) => server === undefined || Number(pid) === server || parentOf(pid) === server)
      .map((pid) => [pid, cpuSecondsOf(pid)]),
  );

/** What the processes of `after` have used since `before`, in seconds. Processes that ended meanwhile are left out. */
export const usedSince = (before, after) =>
  [...after].reduce((sum, [pid, seconds]) => sum + seconds - (before.get(pid) ?? 0), 0);

/** CPU time that a PostgreSQL server has used, in seconds: of its processes, and of those that ended. */
export function serverCpu(server) {
  const living = [...postgresCpu(server).values()].reduce((sum, seconds) => sum + seconds, 0);
  return living + endedChildrenCpu(server);
}
