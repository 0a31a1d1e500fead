import { setTimeout as sleep } from 'node:timers/promises';
import { errorCode } from './errors.ts';

/** Ends a PostgreSQL server: by a fast shutdown, after 10 s by an immediate one, after 10 s more by force. */
export async function endProcess(pid: number, isAlive: () => boolean): Promise<void> {
  for (const signal of ['SIGINT', 'SIGQUIT', 'SIGKILL'] as const) {
    try {
      process.kill(pid, signal);
    } catch (error) {
      if (errorCode(error) === 'ESRCH') return;
      throw error;
    }
    for (const deadline = Date.now() + 10_000; Date.now() < deadline; await sleep(20)) if (!isAlive()) return;
  }
  throw new Error(`process ${pid} does not end`);
}
