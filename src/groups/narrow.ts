import type { Database } from '../postgres/pool.ts';
import { planned, row } from '../postgres/statements.ts';
import { inTurnOf } from '../postgres/transactions.ts';
import type { Queues } from '../queues/cache.ts';
import { afterHolders } from './afterHolders.ts';
import type { GroupHeads } from './heads.ts';

/** The last group that the statement looked at, and those that had too many heads. */
interface Page {
  last_group: string | null;
  groups: string[] | null;
}

const statements = {
  narrowing: planned('groups/narrowing', row<{ is_narrowing: boolean }>()),
  narrow: planned('groups/narrow', row<Page>()),
  narrowed: planned('groups/narrowed'),
};

/** One statement looks at this number of groups. */
const PAGE = 250;
/** Whoever narrows a queue stops after this time. Groups that are left are looked at again by the duty (repair.ts). */
const MOST_MS = 1000;

/**
 * Takes heads from the groups of a queue that have more of them than it allows, after its `group_concurrency` was lowered.
 * See docs/decisions/0104-groups-with-several-heads.md.
 */
export function createNarrowing({
  db,
  queues,
  groups,
}: {
  db: Database;
  queues: Queues;
  groups: Pick<GroupHeads, 'advance'>;
}) {
  return async (queue_id: number): Promise<void> => {
    const on = inTurnOf(db, { queue: queue_id });
    const [found] = await on.query(statements.narrowing, { queue_id });
    const queue = found?.is_narrowing && (await queues.byId(queue_id));
    if (!queue) return;
    await afterHolders(db, queue_id);
    const until = performance.now() + MOST_MS;
    let after: string | undefined = '';
    while (after !== undefined) {
      if (performance.now() > until) return;
      const pages: Page[] = await on.query(statements.narrow, { queue_id, after, limit: PAGE });
      await groups.advance(queue_id, pages[0]?.groups ?? []);
      after = pages[0]?.last_group ?? undefined;
    }
    await on.query(statements.narrowed, { queue_id, group_concurrency: queue.group_concurrency });
  };
}

export type Narrow = ReturnType<typeof createNarrowing>;
