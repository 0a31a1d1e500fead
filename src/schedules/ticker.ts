import { randomUUID } from 'node:crypto';
import type { Enqueue } from '../enqueue/enqueue.ts';
import { isOutage } from '../errors.ts';
import { isLockTimeout } from '../postgres/errorClasses.ts';
import { SHORT_LOCK_WAIT_MS } from '../postgres/lockWait.ts';
import type { Database } from '../postgres/pool.ts';
import { planned, row } from '../postgres/statements.ts';
import { textArray } from '../postgres/textArray.ts';
import type { Schedule } from '../verbs/schedules.ts';
import { lastTick, nextTick } from './cron.ts';
import { jobOf } from './schedules.ts';

const statements = {
  next: planned('schedules/next', row<{ now: string; next_run_at: string | null }>()),
  due: planned('schedules/due', row<Due>()),
  tick: planned('schedules/tick'),
  refuse: planned('schedules/refuse', row<{ name: string }>()),
};

/** The pause before the next look when other replicas took all due ticks. */
const RETRY_MS = 200;
/**
 * A replica that did not look for this long, and did not doze, was away: one job makes up for the ticks of that time.
 */
const AWAY_MS = 10_000;
/** A replica that cannot keep up makes one job for all ticks that are older than this. */
const MOST_LATE_MS = 600_000;
const LONGEST_ERROR = 500;

interface Due extends Pick<Schedule, 'name' | 'cron' | 'timezone' | 'job' | 'payload'> {
  next_run_at: string;
  revision: string;
  refusals: number;
}

interface Refused {
  due: Due;
  error: string;
}

const why = (error: unknown): string =>
  isLockTimeout(error)
    ? 'Another transaction has locked the unique key or the queue.'
    : (error as Error).message;

/**
 * Enqueues the job of each tick in the transaction that takes the tick. So each tick makes one job, with any number of
 * replicas, also when one of them dies. One job makes up for all ticks from before this replica began to look, and for
 * all that a schedule missed while its job was refused.
 */
export function scheduleTicks(context: {
  db: Database;
  enqueueWithin: Enqueue['enqueueWithin'];
  /** While it dozed, the replica knew when the next tick is due. So ticks of that time were not missed. */
  rest: { dozedSince(at: number): number };
  log: (error: unknown, message: string) => void;
}): () => Promise<boolean | number> {
  const { db, enqueueWithin, rest, log } = context;
  /** Since when this replica looks, and when it looked last, by the clock of the database. */
  let since = 0;
  let looked = Number.NEGATIVE_INFINITY;
  /** When it looked last, by the clock of this process. */
  let lookedAt = 0;

  /** Takes the tick that is due. False when another replica took it. */
  async function take(due: Due, now: number): Promise<boolean> {
    const { name, cron, timezone, next_run_at, revision, refusals } = due;
    const missedUpTo = refusals > 0 ? now : Math.max(since, now - MOST_LATE_MS);
    const upTo = new Date(Math.max(Date.parse(next_run_at), missedUpTo));
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
      { tryMs: SHORT_LOCK_WAIT_MS },
    );
  }

  /** Takes ticks that are due. Returns whether any was taken, or must rest now. */
  async function takeDue(now: number): Promise<boolean> {
    let taken = 0;
    const refused: Refused[] = [];
    for (const due of await db.query(statements.due)) {
      try {
        if (await take(due, now)) taken++;
      } catch (error) {
        refused.push({ due, error: why(error).slice(0, LONGEST_ERROR) });
        if (due.refusals === 0)
          log(error, `the job of schedule ${due.name} was refused, it will be tried again`);
        // When the database is away, the note of the refusal fails too, and says so.
        if (isOutage(error)) break;
      }
    }
    if (refused.length === 0) return taken > 0;
    const resting = await db.query(statements.refuse, {
      names: refused.map(({ due }) => due.name),
      revisions: refused.map(({ due }) => due.revision),
      errors: textArray(refused.map(({ error }) => error)),
    });
    return taken + resting.length > 0;
  }

  return async () => {
    const [row] = await db.query(statements.next);
    const { now: text, next_run_at } = row as { now: string; next_run_at: string | null };
    const now = Date.parse(text);
    if (now - looked - rest.dozedSince(lookedAt) > AWAY_MS) since = now;
    looked = now;
    lookedAt = performance.now();
    const wait = next_run_at === null ? Number.POSITIVE_INFINITY : Date.parse(next_run_at) - now;
    return wait <= 0 ? (await takeDue(now)) || RETRY_MS : wait;
  };
}
