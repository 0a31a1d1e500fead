import type { BulkThrottle } from '../batching/bulkThrottle.ts';
import { firstOfKeys } from '../enqueue/insert.ts';
import type { Arrivals } from '../floor/arrivals.ts';
import type { GroupHeads, Moved } from '../groups/heads.ts';
import { FIRST_ID, queueIdOf } from '../ids.ts';
import { actAs, beginningWith } from '../postgres/act.ts';
import { isKeyHeld } from '../postgres/errorClasses.ts';
import type { Database } from '../postgres/pool.ts';
import { planned, row } from '../postgres/statements.ts';
import { inTurnOf } from '../postgres/transactions.ts';
import type { Queue } from '../queues/cache.ts';
import { positionsFor } from '../queues/positions.ts';
import type { Notifier } from '../replicas/notifier.ts';
import type { RedriveWish } from '../verbs/queues.ts';
import { callTime } from './purge.ts';
import { butForHeldKeys, heldUpAfter } from './redrive.ts';

interface Sent extends Moved {
  home: string;
  /** The group in this queue whose head it was. */
  headless: string | null;
}

const statements = {
  page: planned(
    'operations/dead_letters_page',
    row<{ id: string; wanted: boolean; unique_key: string | null }>(),
  ),
  send: planned('operations/send_home', row<Sent>()),
};

/** Sends dead letters back to their queues by the thousand, in chunks. Each chunk is a transaction of its own. */
export function createSendHome(context: {
  db: Database;
  arrivals: Arrivals;
  notifier: Notifier;
  throttle: BulkThrottle;
  groups: GroupHeads;
  rest: { active(): void };
}) {
  const { db, arrivals, notifier, throttle, groups, rest } = context;

  /** Sends those of a dead letter queue back that are there now. Returns their number. */
  return async function sendHome(queue: Queue, wish: RedriveWish): Promise<number> {
    const called_at = await callTime(db);
    const inTurn = inTurnOf(db, { queue: queue.id, by: wish.by, hears: isKeyHeld });
    const on = beginningWith(inTurn, actAs(wish.by, 'redriven'));
    const limit = wish.limit ?? Number.POSITIVE_INFINITY;
    const chunk = throttle.chunks();
    let after = FIRST_ID;
    let count = 0;

    async function sendAll(ids: string[]): Promise<void> {
      let rows: Sent[] = [];
      await arrivals.watch(
        () => [...new Set(rows.map(({ id }) => queueIdOf(id) as number))],
        async () => {
          rows = await on.query(statements.send, { queue_id: queue.id, ...(await positionsFor(db, ids)) });
        },
      );
      count += rows.length;
      for (const home of new Set(rows.map((sent) => sent.home))) notifier.ready(home);
      await groups.advanceAfter(rows);
      await groups.advance(queue.id, new Set(rows.flatMap(({ headless }) => headless ?? [])));
    }

    let looked: number;
    do {
      rest.active();
      looked = await chunk(async (size) => {
        const page = await db.query(statements.page, {
          queue_id: queue.id,
          after,
          called_at,
          error_contains: wish.error_contains ?? null,
          visible: wish.visible ?? null,
          limit: size,
        });
        after = page.at(-1)?.id ?? after;
        const wanted = firstOfKeys(page.filter((job) => job.wanted)).map((job) => job.id);
        while (wanted.length > 0 && count < limit)
          await butForHeldKeys(wanted.splice(0, limit - count), sendAll).catch((error) => {
            throw heldUpAfter(count, error);
          });
        return page.length;
      });
    } while (looked > 0 && count < limit);
    return count;
  };
}

export type SendHome = ReturnType<typeof createSendHome>;
