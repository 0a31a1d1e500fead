import type { DatabaseEngine } from '../../engine/open.ts';
import { operationNotFound, QueueGone } from '../../errors.ts';
import { isUuid } from '../../ids.ts';
import { JOB_STATES } from '../../job.ts';
import { boundsFor, tooManyRunning } from '../../operations/running.ts';
import type { Database, Db } from '../../postgres/pool.ts';
import { planned, row } from '../../postgres/statements.ts';
import type { Operation, OperationList, OperationName, OperationPage } from '../../verbs/operations.ts';
import { reopenForgotten } from './reopen.ts';

/**
 * What is done with a relocation now. `counting`: its jobs. `leaving`: the queue leaves its source, and is copied. `arriving`: the
 * copy is about to commit, or has. `cleaning`: the queue lives in its target, and what is left in its source is deleted.
 * `returning`: the queue comes back to its source.
 */
export type Phase = 'counting' | 'leaving' | 'arriving' | 'cleaning' | 'returning' | 'ended';

/** This replica works on it no more: another one has taken it or moved it on, or it is asked to stop. */
export class NotWanted extends Error {}

/** A relocation that a replica works on. */
export interface Relocation {
  id: string;
  queue_id: number;
  queue: string;
  source: string;
  target: string;
  dry_run: boolean;
  phase: Phase;
  /** It ascends with each replica that takes the relocation, and with each copy after one that was refused. */
  attempt: number;
  is_stopped: boolean;
  error: string | null;
  /** Who started it. Null: nobody needs a key. */
  actor: string | null;
}

type NewRelocation = Pick<
  Relocation,
  'id' | 'queue_id' | 'queue' | 'source' | 'target' | 'dry_run' | 'actor'
>;

/** So many of one caller that have ended are kept. */
const MOST_KEPT_OF_ONE = 100;

/** Whoever works on a relocation tells so again within this time. Then another replica takes it. */
export const LEASE_SECONDS = 5;

type Shown = Pick<
  Operation,
  | 'id'
  | 'queue'
  | 'to'
  | 'dry_run'
  | 'state'
  | 'counted'
  | 'matched'
  | 'done'
  | 'error'
  | 'hold_seconds'
  | 'created_at'
  | 'finished_at'
>;

const statements = {
  take: planned('relocation/take', row<Relocation>()),
  goOn: planned('relocation/go_on', row<{ is_stopped: boolean }>()),
  isMine: planned('relocation/is_mine'),
  counted: planned('relocation/counted'),
  nextPhase: planned('relocation/next_phase', row<{ attempt: number }>()),
  hold: planned('relocation/hold'),
  switch: planned('relocation/switch'),
  letGo: planned('relocation/let_go'),
  remove: planned('databases/remove'),
  leadBack: planned('databases/lead_back'),
  ended: planned('relocation/ended'),
  insert: planned('relocation/insert', row<Shown>()),
  running: planned('relocation/running', row<{ own: number }>()),
  find: planned('relocation/find', row<Shown>()),
  list: planned('relocation/list', row<Shown>()),
  stop: planned('relocation/stop'),
};

/** A relocation is told as an operation on all jobs of its queue. */
const asOperation = (shown: Shown): Operation => ({
  ...shown,
  verb: 'relocate',
  states: [...JOB_STATES],
  group: null,
  fairness_key: null,
  worker: null,
  error_contains: null,
  created_after: null,
  created_before: null,
  skipped: 0,
});

/** Notes a new relocation. It is still to be counted. @throws Refusal `too_many_operations` */
async function insert(home: Database, { actor: by, ...values }: NewRelocation): Promise<Operation> {
  const bounds = boundsFor(by);
  const asked = { ...values, by, ...bounds, most_kept: MOST_KEPT_OF_ONE };
  const [shown] = await home.query(statements.insert, asked);
  if (shown) return asOperation(shown);
  const [running] = await home.query(statements.running, { by });
  throw tooManyRunning(running?.own ?? 0, bounds);
}

/** @throws NotWanted when a change of a relocation in home has met no row of this replica */
function expectMine(rows: unknown[]): void {
  if (rows.length === 0) throw new NotWanted();
}

async function end(
  db: Db,
  { id, phase, attempt }: Relocation,
  state: 'done' | 'cancelled' | 'failed',
  error: string | null = null,
): Promise<void> {
  expectMine(await db.query(statements.ended, { id, from_phase: phase, attempt, state, error }));
}

/** Relocations as whoever started them sees them. */
function operationsOf(home: Database) {
  async function get({ id, visible = null }: OperationName): Promise<Operation> {
    const [found] = isUuid(id) ? await home.query(statements.find, { id, visible }) : [];
    if (!found) throw operationNotFound(id);
    return asOperation(found);
  }

  return {
    getOperation: get,

    async listOperations({
      limit,
      after,
      queue,
      state,
      visible = null,
    }: OperationPage): Promise<OperationList> {
      const asked = { limit, after: after ?? null, queue: queue ?? null, state: state ?? null, visible };
      return { operations: (await home.query(statements.list, asked)).map(asOperation) };
    },

    async stopOperation({ id, visible = null }: OperationName): Promise<Operation> {
      if (isUuid(id)) await home.query(statements.stop, { id, visible });
      return get({ id, visible });
    },
  };
}

/** The relocations of this Dibs, in home. What no replica works on any more, or another one does, changes nothing there. */
export function createRecord(home: Database) {
  /** Goes to another phase, and does what belongs to that in the same transaction. @throws NotWanted */
  async function next(
    relocation: Relocation,
    to: Phase,
    how: { unlessStopped?: boolean; error?: string | undefined; with?: 'hold' | 'switch' } = {},
  ): Promise<void> {
    const { id, phase, attempt, queue_id, source, target } = relocation;
    const moved = await home.transaction(async (transaction) => {
      const [moved] = await transaction.query(statements.nextPhase, {
        id,
        from_phase: phase,
        to_phase: to,
        attempt,
        unless_stopped: how.unlessStopped ?? false,
        error: how.error ?? null,
      });
      if (!moved) throw new NotWanted();
      if (how.with === 'hold') {
        const held = await transaction.query(statements.hold, { queue_id, source, target });
        if (held.length === 0) throw new QueueGone();
      }
      if (how.with === 'switch') await transaction.query(statements.switch, { queue_id });
      return moved;
    });
    // Before the commit has succeeded, the relocation is where it was.
    Object.assign(relocation, { phase: to, attempt: moved.attempt, error: how.error ?? relocation.error });
  }

  return {
    next,

    insert: (relocation: NewRelocation) => insert(home, relocation),

    /** Takes a relocation between these databases on which nobody works. Callers in `served` had their turns. */
    async take(databases: string[], served: string[]): Promise<Relocation | undefined> {
      const [taken] = await home.query(statements.take, { seconds: LEASE_SECONDS, databases, served });
      return taken;
    },

    /** Tells that this replica works on it. Returns whether it was asked to stop. @throws NotWanted */
    async goOn({ id, attempt }: Relocation, done: number): Promise<boolean> {
      const [found] = await home.query(statements.goOn, { id, attempt, seconds: LEASE_SECONDS, done });
      if (!found) throw new NotWanted();
      return found.is_stopped;
    },

    /**
     * Asks home whether this replica still works on it, in this phase. Whoever asks holds what the next replica waits for in that
     * database. So that one finds what was changed. @throws NotWanted
     */
    async expectMine({ id, phase, attempt }: Relocation, db: Db = home): Promise<void> {
      expectMine(await db.query(statements.isMine, { id, phase, attempt }));
    },

    /** Nobody works on it any more. */
    async leave({ id, attempt }: Relocation): Promise<void> {
      await home.query(statements.goOn, { id, attempt, seconds: 0, done: null });
    },

    /** @throws NotWanted */
    async counted({ id, attempt }: Relocation, matched: number, hold_seconds: number): Promise<void> {
      expectMine(await home.query(statements.counted, { id, attempt, matched, hold_seconds }));
    },

    /**
     * It has ended, and calls for the queue go on where it is: in this database. Undefined: it was deleted before it could leave.
     * @throws NotWanted
     */
    async cameBack(
      relocation: Relocation,
      state: 'cancelled' | 'failed',
      database: string | undefined,
    ): Promise<void> {
      const { queue_id, queue: name, source: placed } = relocation;
      await home.transaction(async (transaction) => {
        await end(transaction, relocation, state);
        await transaction.query(statements.letGo, { queue_id });
        if (database === undefined) await transaction.query(statements.remove, { queue_id });
        else if (database !== placed)
          await transaction.query(statements.leadBack, { queue_id, name, placed, database });
      });
      relocation.phase = 'ended';
    },

    /** @throws NotWanted */
    async ended(
      relocation: Relocation,
      state: 'done' | 'cancelled' | 'failed',
      error?: string,
    ): Promise<void> {
      await end(home, relocation, state, error);
      relocation.phase = 'ended';
    },

    /** Goes on with relocations of queues of this database that home has forgotten. */
    reopen: (engine: DatabaseEngine): Promise<unknown> => reopenForgotten(home, engine),

    ...operationsOf(home),
  };
}

export type Record = ReturnType<typeof createRecord>;
