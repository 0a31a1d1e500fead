import { setTimeout as sleep } from 'node:timers/promises';
import { onAll } from './severalDatabases.ts';

const CUT = `select pg_terminate_backend(pid) from pg_stat_activity
  where application_name = 'dibs' and datname = current_database()`;

/**
 * Cuts all connections of Dibs to its databases again and again, at any moment, until `work` is done. The pauses become
 * longer, so that on a slow machine requests get through, too.
 */
export async function cutWhile(databaseUrl: string, work: Promise<unknown>): Promise<void> {
  let done = false;
  const end = () => {
    done = true;
  };
  work.then(end, end);
  for (let pauseMs = 30; !done; pauseMs *= 1.01) {
    await onAll(databaseUrl, CUT);
    await sleep(Math.random() * pauseMs);
  }
  await work;
}
