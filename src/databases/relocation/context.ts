import { HOME } from '../../config/databases.ts';
import type { DatabaseEngine } from '../../engine/open.ts';
import type { Db } from '../../postgres/pool.ts';
import { planned, row } from '../../postgres/statements.ts';
import { NotWanted, type Record, type Relocation } from './record.ts';

/* What the steps of a relocation share. */

/** One statement takes so many jobs out, puts so many back, or deletes so many. */
export const SLICE = 2000;

const statements = {
  hasArrived: planned('relocation/has_arrived', row<{ has_arrived: boolean }>()),
  commits: planned('relocation/commits'),
  refuse: planned('relocation/refuse'),
  adoptSessions: planned('relocation/adopt_sessions'),
};

/** The engines of the databases between which a queue goes. */
export interface Between {
  source: DatabaseEngine;
  target: DatabaseEngine;
  /** Those of all other databases. */
  others: DatabaseEngine[];
}

/** What each step works on. */
export interface Context extends Between {
  record: Record;
  relocation: Relocation;
  /** Ends the copy that is under way. */
  stop: AbortSignal;
  /** So many more jobs are copied. */
  copied(jobs: number): void;
}

/** The queue is here, with jobs that this replica knows nothing of. Those that wait for them look once. */
export function welcome({ base, rooms }: DatabaseEngine, queue: string): void {
  base.queues.changed(queue);
  base.leaseHorizon.scanAll();
  base.scheduledHorizon.scanAll();
  base.notifier.ready(queue);
  rooms.repair.lookAgain();
}

/** The sessions of leases that have come here, or come back, are known here. */
export const adoptSessions = ({ name, base }: DatabaseEngine, queue_id: number): Promise<unknown> =>
  base.db.query(statements.adoptSessions, { queue_id, ended: name === HOME });

/** Asks home, within a transaction in the database of `engine`. In home itself it asks by that transaction. @throws NotWanted */
export const expectMine = (record: Record, relocation: Relocation, engine: DatabaseEngine, transaction: Db) =>
  record.expectMine(relocation, engine.name === HOME ? transaction : undefined);

/** Whether the queue is in this database, in place of the source. */
export async function hasArrived(
  engine: DatabaseEngine,
  { id, queue_id, queue }: Relocation,
): Promise<boolean> {
  const [found] = await engine.base.db.query(statements.hasArrived, { queue_id, queue, relocation: id });
  return found?.has_arrived ?? false;
}

/** A copy can commit from now on. With 0, none can. @throws NotWanted */
export async function noteCommits({ relocation, source }: Context, attempt: number): Promise<void> {
  const { id, queue_id } = relocation;
  const noted = await source.base.db.query(statements.commits, { queue_id, relocation: id, attempt });
  if (noted.length === 0) throw new NotWanted();
}

/** Whether the queue is in the target. If not, none of the copies that were made can arrive there any more. @throws NotWanted */
export async function refuseCopies({ record, relocation, target }: Context): Promise<boolean> {
  if (await hasArrived(target, relocation)) return true;
  const { id, queue_id, attempt } = relocation;
  const refused = await target.base.db.transaction(
    async (transaction) => {
      const rows = await transaction.query(statements.refuse, { queue_id, relocation: id, attempt });
      await expectMine(record, relocation, target, transaction);
      return rows;
    },
    { queue: queue_id },
  );
  return refused.length === 0;
}
