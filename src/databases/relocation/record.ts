import { operationNotFound, QueueGone } from '../../errors.ts';
import { isUuid } from '../../ids.ts';
import { JOB_STATES } from '../../job.ts';
import { boundsFor, tooManyRunning } from '../../operations/running.ts';
import type { Database } from '../../postgres/pool.ts';
import { planned, row } from '../../postgres/statements.ts';
import type { Operation, OperationList, OperationName, OperationPage } from '../../verbs/operations.ts';

/**
 * What is done with a relocation now. `counting`: its jobs. `leaving`: the queue leaves its source, and is copied. `arriving`: the
 * copy is about to commit, or has. `cleaning`: the queue lives in its target, and what is left in its source is deleted.
 * `returning`: the queue comes back to its source.
 */
export type Phase = 'counting' | 'leaving' | 'arriving' | 'cleaning' | 'returning' | 'ended';

/** A relocation that a replica works on. */
export interface Relocation {
  id: string;
  queue_id: number;
  queue: string;
  source: string;
  target: string;
  dry_run: boolean;
  phase: Phase;
  /** The number of the copy that is made. */
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
  counted: planned('relocation/counted'),
  nextPhase: planned('relocation/next_phase', row<{ attempt: number }>()),
  hold: planned('relocation/hold'),
  switch: planned('relocation/switch'),
  letGo: planned('relocation/let_go'),
  remove: planned('databases/remove'),
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

/** The relocations of this Dibs, in home. */
export function createRecord(home: Database) {
  /** Goes to another phase, and does what belongs to that in the same transaction. */
  async function next(
    relocation: Relocation,
    to: Phase,
    how: { unlessStopped?: boolean; error?: string | undefined; with?: 'hold' | 'switch' } = {},
  ): Promise<boolean> {
    const { id, phase, attempt, queue_id, source, target } = relocation;
    return home.transaction(async (transaction) => {
      const [moved] = await transaction.query(statements.nextPhase, {
        id,
        from_phase: phase,
        to_phase: to,
        attempt,
        unless_stopped: how.unlessStopped ?? false,
        error: how.error ?? null,
      });
      if (!moved) return false;
      if (how.with === 'hold') {
        const held = await transaction.query(statements.hold, { queue_id, source, target });
        if (held.length === 0) throw new QueueGone();
      }
      if (how.with === 'switch') await transaction.query(statements.switch, { queue_id });
      Object.assign(relocation, { phase: to, attempt: moved.attempt, error: how.error ?? relocation.error });
      return true;
    });
  }

  async function get({ id, visible = null }: OperationName): Promise<Operation> {
    const [found] = isUuid(id) ? await home.query(statements.find, { id, visible }) : [];
    if (!found) throw operationNotFound(id);
    return asOperation(found);
  }

  return {
    next,

    insert: (relocation: NewRelocation) => insert(home, relocation),

    /** Takes a relocation between these databases on which nobody works. Callers in `served` had their turns. */
    async take(databases: string[], served: string[]): Promise<Relocation | undefined> {
      const [taken] = await home.query(statements.take, { seconds: LEASE_SECONDS, databases, served });
      return taken;
    },

    /** Tells that somebody works on it. Returns whether it was asked to stop. */
    async goOn(id: string, done?: number): Promise<boolean> {
      const asked = { id, seconds: LEASE_SECONDS, done: done ?? null };
      const [found] = await home.query(statements.goOn, asked);
      return found?.is_stopped ?? true;
    },

    /** Nobody works on it any more. */
    async leave(id: string): Promise<void> {
      await home.query(statements.goOn, { id, seconds: 0, done: null });
    },

    async counted(id: string, matched: number, hold_seconds: number): Promise<void> {
      await home.query(statements.counted, { id, matched, hold_seconds });
    },

    /** Calls for the queue go on in its source. `isGone`: it was deleted there before it could leave. */
    async letGo({ queue_id }: Relocation, isGone: boolean): Promise<void> {
      await home.transaction(async (transaction) => {
        await transaction.query(statements.letGo, { queue_id });
        if (isGone) await transaction.query(statements.remove, { queue_id });
      });
    },

    async ended({ id, phase }: Relocation, state: 'done' | 'cancelled' | 'failed', error?: string) {
      await home.query(statements.ended, { id, from_phase: phase, state, error: error ?? null });
    },

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

export type Record = ReturnType<typeof createRecord>;
