import { isOutage } from '../errors.ts';
import { FIRST_ID } from '../ids.ts';
import type { Db } from '../postgres/pool.ts';
import { planned, row } from '../postgres/statements.ts';

interface Regained {
  queue_id: number;
  id: string;
  /** Null: another job has it, or an open transaction is taking it. */
  unique_key: string | null;
  ready_in: string | null;
}

const statement = planned('enqueue/regain_keys', row<Regained>());

/** How many jobs one statement takes (sql/functions/regain_keys.sql). */
const AT_ONCE = 100;

const FIRST = { behind_queue: 0, behind_id: FIRST_ID };

interface Context {
  db: Db;
  notifier: { ready(queue: string): void };
}

async function regain({ db, notifier }: Context, behind: typeof FIRST, ids: string[] | null) {
  const jobs = await db.query(statement, { ...behind, ids });
  for (const queue of new Set(jobs.map(({ ready_in }) => ready_in)))
    if (queue !== null) notifier.ready(queue);
  return jobs;
}

/** A job that may have come back without its unique key (`unique_until` claimed). */
export interface MayBeKeyless {
  id: string;
  unique_key?: string | null;
  is_keyless?: boolean | null;
}

/** Gives those of these jobs that came back without their unique keys these again. */
export async function regainAtOnce(context: Context, jobs: MayBeKeyless[]): Promise<void> {
  const keyless = jobs.filter(({ is_keyless }) => is_keyless);
  for (let i = 0; i < keyless.length; i += AT_ONCE) {
    const some = keyless.slice(i, i + AT_ONCE);
    const ids = some.map(({ id }) => id);
    const keys = new Map((await regain(context, FIRST, ids)).map(({ id, unique_key }) => [id, unique_key]));
    for (const job of some) job.unique_key = keys.get(job.id) ?? null;
  }
}

/** The same for jobs that a commit has brought back already: its answer cannot say that nothing was done. After an outage, the duty sees to it. */
export const regainIfThere = (context: Context, jobs: MayBeKeyless[]): Promise<void> =>
  regainAtOnce(context, jobs).catch((error) => {
    if (!isOutage(error)) throw error;
  });

/**
 * The duty that does so for all jobs that came back otherwise, or whose replica died. It goes through them page by page: those whose keys
 * open transactions are taking stay, and hold up no others.
 */
export function regainKeys(context: Context) {
  let behind = FIRST;

  return async (): Promise<boolean> => {
    const jobs = await regain(context, behind, null);
    const last = jobs.length === AT_ONCE ? jobs.at(-1) : undefined;
    behind = last ? { behind_queue: last.queue_id, behind_id: last.id } : FIRST;
    return last !== undefined;
  };
}
