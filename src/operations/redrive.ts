import type { BulkThrottle } from '../batching/bulkThrottle.ts';
import { firstOfKeys } from '../enqueue/insert.ts';
import { type MayBeKeyless, regainIfThere } from '../enqueue/regainKeys.ts';
import { HeldUp, unavailable } from '../errors.ts';
import type { Arrivals } from '../floor/arrivals.ts';
import type { GroupHeads, Moved } from '../groups/heads.ts';
import { FIRST_ID } from '../ids.ts';
import { actAs, beginningWith } from '../postgres/act.ts';
import { isKeyHeld, isKeyTaken } from '../postgres/errorClasses.ts';
import type { Database, Db } from '../postgres/pool.ts';
import { planned, row } from '../postgres/statements.ts';
import { inTurnOf } from '../postgres/transactions.ts';
import type { Queue } from '../queues/cache.ts';
import { positionsFor } from '../queues/positions.ts';
import type { Notifier } from '../replicas/notifier.ts';
import type { RedriveWish } from '../verbs/queues.ts';
import { callTime } from './purge.ts';

interface DeadJob {
  id: string;
  finished_at: string;
  wanted: boolean;
  unique_key: string | null;
}

const statements = {
  page: planned('operations/redrive_page', row<DeadJob>()),
  redrive: planned('operations/redrive', row<Moved & MayBeKeyless>()),
};

/** So many jobs came back before another transaction locked one for too long. Where none did, the error stays. */
export const heldUpAfter = (count: number, error: unknown): unknown =>
  error instanceof HeldUp && count > 0
    ? unavailable(
        `Another transaction has locked a job, or its batch, for too long. ${count} jobs are back. Try again for the others.`,
        'unknown',
        error.cause,
      )
    : error;

/** Sends jobs. Where a transaction holds the unique key of one, halving finds that job: only it is left out. */
export async function butForHeldKeys(ids: string[], send: (ids: string[]) => Promise<void>): Promise<void> {
  try {
    await send(ids);
  } catch (error) {
    if (!isKeyTaken(error) && !isKeyHeld(error)) throw error;
    if (ids.length === 1) return;
    const half = ids.length >> 1;
    await butForHeldKeys(ids.slice(0, half), send);
    await butForHeldKeys(ids.slice(half), send);
  }
}

/** Makes dead jobs ready again by the thousand, in chunks. Each chunk is a transaction of its own. */
export function createRedrive(context: {
  db: Database;
  arrivals: Arrivals;
  notifier: Notifier;
  throttle: BulkThrottle;
  groups: GroupHeads;
  rest: { active(): void };
}) {
  const { db, arrivals, notifier, throttle, groups, rest } = context;
  async function redriveAll(
    queue: Queue,
    dead: string[],
    called_at: string,
    on: Db,
    back: (jobs: number) => void,
  ) {
    const queue_id = queue.id;
    const rows = await arrivals.watch(
      () => [queue_id],
      async () => {
        const places = await positionsFor(db, dead);
        return on.query(statements.redrive, {
          queue_id,
          states: ['dead'],
          called_at,
          ...places,
        });
      },
    );
    await regainIfThere({ db, notifier }, rows);
    notifier.ready(queue.name);
    back(rows.length);
    await groups.advanceAfter(rows);
  }

  /** Makes dead jobs ready again, oldest first, with all their attempts. Returns their number. */
  return async function redrive(queue: Queue, wish: RedriveWish): Promise<number> {
    const called_at = await callTime(db);
    // It waits only for a moment for a transaction that takes a key: somebody may keep that transaction open.
    const inTurn = inTurnOf(db, { queue: queue.id, by: wish.by, hears: isKeyHeld });
    const on = beginningWith(inTurn, actAs(wish.by, 'redriven'));
    const limit = wish.limit ?? Number.POSITIVE_INFINITY;
    const chunk = throttle.chunks();
    let after = { after_finished_at: '-infinity', after_id: FIRST_ID };
    let count = 0;
    const back = (jobs: number) => {
      count += jobs;
    };
    let looked: number;
    do {
      // It may take minutes. The other replicas do not rest meanwhile.
      rest.active();
      looked = await chunk(async (size) => {
        const page = await db.query(statements.page, {
          queue_id: queue.id,
          ...after,
          called_at,
          error_contains: wish.error_contains ?? null,
          limit: size,
        });
        const last = page.at(-1);
        if (last) after = { after_finished_at: last.finished_at, after_id: last.id };
        // When the first job of a key is back, the others of the key cannot come back. A job whose key is taken at this
        // moment cannot come back either: the next one of the page takes its place under the limit.
        const wanted = firstOfKeys(page.filter((job) => job.wanted)).map((job) => job.id);
        while (wanted.length > 0 && count < limit)
          await butForHeldKeys(wanted.splice(0, limit - count), (dead) =>
            redriveAll(queue, dead, called_at, on, back),
          ).catch((error) => {
            throw heldUpAfter(count, error);
          });
        return page.length;
      });
    } while (looked > 0 && count < limit);
    return count;
  };
}

export type Redrive = ReturnType<typeof createRedrive>;
