import { randomUUID } from 'node:crypto';
import type { Enqueue } from '../enqueue/enqueue.ts';
import { isOutage } from '../errors.ts';
import type { Database } from '../postgres/pool.ts';
import { planned, row } from '../postgres/statements.ts';
import { lastTick, nextTick } from './cron.ts';
import type { Schedule } from './schedule.ts';
import { jobOf } from './schedules.ts';

const statements = {
  next: planned('schedules/next', row<{ now: string; next_run_at: string | null }>()),
  due: planned('schedules/due', row<Due>()),
  tick: planned('schedules/tick'),
};

/** The pause before the next look when other replicas took all due ticks, or when their jobs were refused. */
const RETRY_MS = 200;
/** Schedules that are remembered as refused. Beyond this number, their refusals are logged again. */
const MOST_REFUSED = 10_000;
/** A replica that is late makes one job for all ticks that are older than this. */
const LAG_MS = 10_000;

interface Due extends Pick<Schedule, 'name' | 'cron' | 'timezone' | 'job' | 'payload'> {
  next_run_at: string;
  revision: string;
}

/**
 * Enqueues the job of each tick in the transaction that takes the tick. So each tick makes one job, with any number of
 * replicas, also when one of them dies. All ticks from before this replica began make one job together.
 */
export function scheduleTicks(context: {
  db: Database;
  enqueueWithin: Enqueue['enqueueWithin'];
  log: (error: unknown, message: string) => void;
}): () => Promise<boolean | number> {
  const { db, enqueueWithin, log } = context;
  /** When this replica first looked, by the clock of the database. */
  let since: number | undefined;
  /** Schedules whose jobs are refused. This is logged once for each. */
  const refused = new Set<string>();

  /** Takes the tick that is due. False when another replica took it. */
  async function take(due: Due, now: number): Promise<boolean> {
    const { name, cron, timezone, next_run_at, revision } = due;
    const upTo = new Date(Math.max(Date.parse(next_run_at), since ?? now, now - LAG_MS));
    return enqueueWithin(
      [jobOf(due)],
      () => '/job',
      async (transaction, enqueueIn) => {
        const taken = await transaction.query(statements.tick, {
          name,
          revision,
          last_run_at: lastTick(cron, timezone, upTo),
          next_run_at: nextTick(cron, timezone, upTo),
          new_revision: randomUUID(),
        });
        if (taken.length > 0) await enqueueIn();
        return taken.length > 0;
      },
    );
  }

  async function takeDue(now: number): Promise<boolean> {
    let any = false;
    for (const due of await db.query(statements.due)) {
      try {
        if (!(await take(due, now))) continue;
        any = true;
        refused.delete(due.name);
      } catch (error) {
        if (isOutage(error)) throw error;
        if (!refused.has(due.name))
          log(error, `the job of schedule ${due.name} was refused, it will be tried again`);
        if (refused.size === MOST_REFUSED) refused.clear();
        refused.add(due.name);
      }
    }
    return any;
  }

  return async () => {
    const [row] = await db.query(statements.next);
    const { now: text, next_run_at } = row as { now: string; next_run_at: string | null };
    const now = Date.parse(text);
    since ??= now;
    const wait = next_run_at === null ? Number.POSITIVE_INFINITY : Date.parse(next_run_at) - now;
    if (wait <= 0) return (await takeDue(now)) || RETRY_MS;
    // A schedule whose job is refused stays due. So none of these is left.
    refused.clear();
    return wait;
  };
}
