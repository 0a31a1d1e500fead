import { isOutage } from '../errors.ts';
import { isLockTimeout } from '../postgres/errorClasses.ts';
import { SHORT_LOCK_WAIT_MS } from '../postgres/lockWait.ts';
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
  log,
}: {
  db: Database;
  queues: Queues;
  groups: Pick<GroupHeads, 'advance'>;
  log: (error: unknown, message: string) => void;
}) {
  /** By queue, the groups that claims have met since the statement that runs for such ones began. */
  const crowded = new Map<number, Set<string>>();

  const inTurn = (queue_id: number) => inTurnOf(db, { queue: queue_id, tryMs: SHORT_LOCK_WAIT_MS });

  /** The duty tries again. Meanwhile claims narrow the groups that they meet. */
  function leave(error: unknown): void {
    if (!isLockTimeout(error) && !isOutage(error))
      log(error, 'groups of a queue may have more heads than it allows');
  }

  async function page(queue_id: number, asked: { after: string; limit: number; groups: string[] }) {
    const [found] = await inTurn(queue_id).query(statements.narrow, { queue_id, ...asked });
    await groups.advance(queue_id, found?.groups ?? []);
    return found?.last_group ?? undefined;
  }

  async function narrowMet(queue_id: number, waiting: Set<string>): Promise<void> {
    while (waiting.size > 0) {
      const met = [...waiting];
      waiting.clear();
      await page(queue_id, { after: '', limit: 0, groups: met });
    }
  }

  async function narrowAll(queue_id: number): Promise<void> {
    const [found] = await inTurn(queue_id).query(statements.narrowing, { queue_id });
    const queue = found?.is_narrowing && (await queues.byId(queue_id));
    if (!queue) return;
    await afterHolders(db, queue_id);
    const until = performance.now() + MOST_MS;
    let after: string | undefined = '';
    while (after !== undefined) {
      if (performance.now() > until) return;
      after = await page(queue_id, { after, limit: PAGE, groups: [] });
    }
    await inTurn(queue_id).query(statements.narrowed, {
      queue_id,
      group_concurrency: queue.group_concurrency,
    });
  }

  return {
    /** Narrows all groups of a queue, or as many as there is time for. It does not wait for who holds a job. */
    async all(queue_id: number): Promise<void> {
      await narrowAll(queue_id).catch(leave);
    },

    /** Claims have met these groups, and may not have their jobs: they are narrowed before others. If that fails, `all` finds them. */
    met(queue_id: number, met: string[]): void {
      const waiting = crowded.get(queue_id) ?? new Set();
      for (const group of met) waiting.add(group);
      if (crowded.has(queue_id)) return;
      crowded.set(queue_id, waiting);
      void narrowMet(queue_id, waiting)
        .catch(leave)
        .finally(() => crowded.delete(queue_id));
    },
  };
}

export type Narrowing = ReturnType<typeof createNarrowing>;
