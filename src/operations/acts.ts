import type { RelayOut } from '../enqueue/enqueueWithin.ts';
import { firstOfKeys } from '../enqueue/insert.ts';
import { type MayBeKeyless, regainIfThere } from '../enqueue/regainKeys.ts';
import { isOutage } from '../errors.ts';
import type { GroupHeads, Moved } from '../groups/heads.ts';
import type { JobState } from '../job.ts';
import type { Db } from '../postgres/pool.ts';
import { planned, row } from '../postgres/statements.ts';
import type { Queue } from '../queues/cache.ts';
import type { Places } from '../queues/elsewhere.ts';
import { positionsFor } from '../queues/positions.ts';
import type { Notifier } from '../replicas/notifier.ts';
import type { Settlement } from '../settle/verbs.ts';
import type { OperationVerb } from '../verbs/operations.ts';
import type { Changed, Waiters } from '../waiting/waiters.ts';

/** The jobs of a portion, all in the same state. The transaction has locked them. */
export interface Page {
  state: JobState;
  /** They ascend. */
  ids: string[];
  unique_keys: (string | null)[];
  /** The groups that these jobs are the heads of. */
  headless: string[];
  /** The ids in the order in which the jobs are to arrive, where that is not by id. */
  in_order?: string[];
}

/** What a portion did. */
export interface Act {
  done: number;
  /** Runs after the commit. */
  afterwards(): Promise<void>;
}

interface Place {
  queue: Queue;
  /** Where a move goes. */
  to: { id: number; name: string } | undefined;
}

/** The operation cannot go on. The message tells why. */
export class CannotGoOn extends Error {}

const statements = {
  cancel: planned('operations/cancel', row<Changed & { state: JobState }>()),
  retry: planned('operations/redrive', row<Moved & MayBeKeyless>()),
  delete: planned('operations/delete', row<{ count: number }>()),
  target: planned('operations/target', row<{ capacity: number | null }>()),
  move: planned('operations/move', row<Moved>()),
  moveElsewhere: planned('relay/move', row<{ id: string }>()),
};

/** What each verb of an operation does to the jobs of a portion. */
export function createOperationActs(context: {
  db: Db;
  notifier: Notifier;
  waiters: Waiters;
  settlement: Settlement;
  groups: GroupHeads;
  /** Both are set where there are several databases. */
  crossing?: Places | undefined;
  relay?: Pick<RelayOut, 'sendTo'> | undefined;
}): Record<OperationVerb, (transaction: Db, place: Place, page: Page) => Promise<Act>> {
  const { db, notifier, waiters, settlement, groups, crossing, relay } = context;

  /** Whether a queue lives in another database. It is looked up anew: it may be gone. While home is away, as it was. */
  async function isElsewhere(queueId: number): Promise<boolean> {
    if (!crossing) return false;
    const database = await crossing.databaseOf(queueId, true).catch((error) => {
      if (!isOutage(error)) throw error;
      return crossing.databaseOf(queueId);
    });
    return database !== undefined && database !== crossing.self;
  }

  /** Moves jobs to a queue in another database. A full queue takes them. */
  async function moveElsewhere(transaction: Db, { queue, to }: Place, ids: string[], headless: string[]) {
    const { id, name } = to as { id: number; name: string };
    const rows = await transaction.query(statements.moveElsewhere, {
      queue_id: queue.id,
      to_id: id,
      to: name,
      ids,
    });
    return {
      done: rows.length,
      async afterwards() {
        relay?.sendTo(id);
        await groups.advance(queue.id, headless);
      },
    };
  }

  return {
    async cancel(transaction, { queue }, { ids, headless }) {
      const rows = await transaction.query(statements.cancel, { queue_id: queue.id, ids });
      return {
        done: rows.length,
        async afterwards() {
          waiters.changed(rows);
          await settlement.dropCancelled(queue, rows);
          await groups.advance(queue.id, headless);
        },
      };
    },

    async retry(transaction, { queue }, { ids, unique_keys }) {
      const jobs = ids.map((id, i) => ({ id, unique_key: unique_keys[i] ?? null }));
      const places = await positionsFor(
        transaction,
        firstOfKeys(jobs).map(({ id }) => id),
      );
      const rows = await transaction.query(statements.retry, {
        queue_id: queue.id,
        states: ['dead', 'scheduled'],
        called_at: 'infinity',
        ...places,
      });
      return {
        done: rows.length,
        async afterwards() {
          await regainIfThere({ db, notifier }, rows);
          notifier.ready(queue.name);
          await groups.advanceAfter(rows);
        },
      };
    },

    async delete(transaction, { queue }, { ids, headless }) {
      const [deleted] = await transaction.query(statements.delete, { queue_id: queue.id, ids });
      return {
        done: deleted?.count ?? 0,
        async afterwards() {
          await groups.advance(queue.id, headless);
        },
      };
    },

    async move(transaction, { queue, to }, { state, ids, headless, in_order: inOrder = ids }) {
      const target = to as { id: number; name: string };
      if (await isElsewhere(target.id)) return moveElsewhere(transaction, { queue, to }, ids, headless);
      const counts = state === 'ready' || state === 'blocked';
      const [found] = await transaction.query(statements.target, { to_id: target.id, counts });
      if (!found) throw new CannotGoOn(`The queue ${JSON.stringify(target.name)} was deleted.`);
      const fitting = inOrder.slice(0, found.capacity ?? inOrder.length);
      const places = await positionsFor(transaction, fitting);
      const rows =
        fitting.length === 0
          ? []
          : await transaction.query(statements.move, { queue_id: queue.id, to_id: target.id, ...places });
      return {
        done: rows.length,
        async afterwards() {
          if (rows.some((job) => job.state === 'ready')) notifier.ready(target.name);
          await groups.advance(queue.id, headless);
          await groups.advanceAfter(rows);
        },
      };
    },
  };
}
