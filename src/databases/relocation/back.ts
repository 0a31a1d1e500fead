import { isOutage, QueueGone } from '../../errors.ts';
import { FIRST_ID } from '../../ids.ts';
import { planned } from '../../postgres/statements.ts';
import { adoptSessions, type Context, hasArrived, refuseCopies, SLICE, welcome } from './context.ts';
import { goOnThere } from './there.ts';

/* How a queue comes back into its source, when its relocation was stopped or has failed. */

const statements = {
  lock: planned('changing/queue_lock'),
  record: planned('relocation/record'),
  there: planned('databases/there'),
  turnBack: planned('relocation/turn_back'),
  putBack: planned('relocation/put_back'),
  arriving: planned('relocation/arriving'),
  restore: planned('relocation/restore'),
  restoreArrivals: planned('relocation/restore_arrivals'),
  forget: planned('relocation/forget'),
};

/** Whether the queue has left for the target by a copy that may have committed. Home does not tell: it may have forgotten that. */
async function mayHaveArrived({ relocation, source }: Context): Promise<boolean> {
  const { queue_id, id } = relocation;
  const [note] = await source.base.db.query(statements.record, { queue_id });
  if (!note) return !(await hasArrived(source, relocation));
  return note.relocation === id && note.attempt !== 0;
}

/** Whether the target has the queue. It need not answer where that cannot be. @throws NotWanted */
async function isInTarget(context: Context): Promise<boolean> {
  const may = await mayHaveArrived(context);
  return refuseCopies(context).catch((error) => {
    if (may || !isOutage(error)) throw error;
    return false;
  });
}

/** Puts the jobs and the row of the queue back into the source, where they left. */
async function putBack({ relocation, source }: Context): Promise<void> {
  const { id, queue_id } = relocation;
  const { db } = source.base;
  const asked = { queue_id, relocation: id };
  // Another replica may be about to let it leave. That holds the queue: see leave.
  const [turned] = await db.transaction(
    async (transaction) => {
      await transaction.query(statements.lock, { queue_id });
      return transaction.query(statements.turnBack, asked);
    },
    { queue: queue_id },
  );
  if (!turned) return;
  for (let after = FIRST_ID, count = SLICE; count === SLICE; ) {
    const [put] = await db.query(statements.putBack, { ...asked, after, limit: SLICE });
    count = put?.count ?? 0;
    after = put?.last_id ?? after;
  }
  await db.transaction(async (transaction) => {
    const [left] = await transaction.query(statements.record, { queue_id });
    await transaction.query(statements.arriving, { queue_id });
    const [restored] = await transaction.query(statements.restore, asked);
    if (restored) await transaction.query(statements.restoreArrivals, { arrivals: left?.arrivals ?? '[]' });
  });
}

/** Where the queue is, if not in the target. Undefined: it was deleted before it could leave. */
async function whereabouts({ relocation, source, others }: Context): Promise<string | undefined> {
  for (const engine of [source, ...others]) if (await hasArrived(engine, relocation)) return engine.name;
  return undefined;
}

/** Brings the queue back into its source, with all of its jobs. It is too late when it has arrived. */
export async function comeBack(context: Context): Promise<void> {
  const { record, relocation, source, target } = context;
  const { id, queue_id, queue, is_stopped, error } = relocation;
  if (await isInTarget(context)) return goOnThere(context);
  await putBack(context);
  // Where the target is away, its note that a copy was refused stays. The next relocation writes over it.
  await target.base.db.query(statements.forget, { queue_id, relocation: id }).catch(() => undefined);
  source.base.queues.changed(queue);
  await adoptSessions(source, queue_id);
  const database = await whereabouts(context);
  await record.cameBack(relocation, is_stopped && error === null ? 'cancelled' : 'failed', database);
  welcome(source, queue);
}

/**
 * Where a relocation gives up that has only counted: whether the queue has left all the same, which home has forgotten. Then it comes
 * back, or goes on in the target.
 */
export async function returnsFrom({ record, relocation, source }: Context, error?: string): Promise<boolean> {
  const { queue_id, queue, dry_run } = relocation;
  if (dry_run) return false;
  const there = await source.base.db
    .query(statements.there, { ids: [queue_id], names: [queue] })
    .catch(() => undefined);
  if (there?.length !== 0) return false;
  return record.next(relocation, 'returning', { error, with: 'hold' }).then(
    () => true,
    (failure) => {
      if (failure instanceof QueueGone) return false;
      throw failure;
    },
  );
}
