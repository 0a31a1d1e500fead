import { isOutage } from '../errors.ts';
import { isLockTimeout } from '../postgres/errorClasses.ts';
import { SHORT_LOCK_WAIT_MS } from '../postgres/lockWait.ts';
import type { Database } from '../postgres/pool.ts';
import { planned, row } from '../postgres/statements.ts';
import { inTurnOf } from '../postgres/transactions.ts';
import { afterHolders } from './afterHolders.ts';
import type { GroupHeads } from './heads.ts';

/** The last group that the statement looked at, and those that had too many heads. */
interface Page {
  last_group: string | null;
  groups: string[] | null;
}

const statements = {
  narrowing: planned('groups/narrowing', row<{ version: string }>()),
  narrow: planned('groups/narrow', row<Page>()),
  narrowed: planned('groups/narrowed'),
};

/** One statement looks at this number of groups. */
const PAGE = 250;
/** Whoever narrows groups stops after this time. The duty (repair.ts) goes on. */
const MOST_MS = 1000;

/**
 * Takes heads from the groups of a queue that have more of them than it allows, after its `group_concurrency` was lowered.
 * See docs/decisions/0104-groups-with-several-heads.md.
 */
export function createNarrowing({
  db,
  groups,
  log,
}: {
  db: Database;
  groups: Pick<GroupHeads, 'advance'>;
  log: (error: unknown, message: string) => void;
}) {
  /** By queue, the group after which narrowing goes on, and the version of the queue when it began. A change begins anew. */
  const places = new Map<number, { version: string; after: string }>();
  /** By queue, the groups that claims have met since the statement that runs for such ones began. */
  const crowded = new Map<number, Set<string>>();

  const briefly = inTurnOf(db, { tryMs: SHORT_LOCK_WAIT_MS });

  /** The duty tries again. Meanwhile claims narrow the groups that they meet. */
  function leave(error: unknown): void {
    if (!isLockTimeout(error) && !isOutage(error))
      log(error, 'groups of a queue may have more heads than it allows');
  }

  async function page(queue_id: number, asked: { after: string; limit: number; groups: string[] }) {
    const [found] = await briefly.query(statements.narrow, { queue_id, ...asked });
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

  async function narrow(queue_id: number, until: number): Promise<void> {
    const [found] = await briefly.query(statements.narrowing, { queue_id });
    if (!found) return;
    const { version } = found;
    let place = places.get(queue_id);
    if (place?.version !== version) {
      await afterHolders(db, queue_id);
      place = { version, after: '' };
      places.set(queue_id, place);
    }
    for (let after: string | undefined = place.after; after !== undefined; ) {
      if (performance.now() > until) return;
      after = await page(queue_id, { after, limit: PAGE, groups: [] });
      if (after !== undefined) place.after = after;
    }
    places.delete(queue_id);
    await briefly.query(statements.narrowed, { queue_id, version });
  }

  return {
    /** Narrows the groups of a queue, as many as there is time for. It waits for nobody who holds a job. */
    begin: (queue_id: number): Promise<void> => narrow(queue_id, performance.now() + MOST_MS).catch(leave),

    /** The duty: narrows groups of these queues, as many as there is time for. No other queue needs it. */
    async all(queueIds: number[]): Promise<void> {
      for (const queueId of places.keys()) if (!queueIds.includes(queueId)) places.delete(queueId);
      const until = performance.now() + MOST_MS;
      for (const queueId of queueIds) {
        if (performance.now() > until) return;
        await narrow(queueId, until).catch(leave);
      }
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
