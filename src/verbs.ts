import type { Caller } from './caller.ts';
import type { Ledger } from './ledger.ts';
import type { Look } from './looks.ts';
import type { Memory } from './memory.ts';
import type { BatchVerbs } from './verbs/batches.ts';
import type { ClaimVerbs } from './verbs/claims.ts';
import type { CountingVerbs } from './verbs/counting.ts';
import type { DatabaseVerbs } from './verbs/databases.ts';
import type { EnqueueVerbs } from './verbs/enqueue.ts';
import type { JobVerbs } from './verbs/jobs.ts';
import type { KeyVerbs, TracedOrigin } from './verbs/keys.ts';
import type { OperationVerbs } from './verbs/operations.ts';
import type { QueueVerbs } from './verbs/queues.ts';
import type { ScheduleVerbs } from './verbs/schedules.ts';
import type { SessionVerbs } from './verbs/sessions.ts';
import type { SettleVerbs } from './verbs/settle.ts';

/**
 * All that Dibs can be asked to do. The rooms of src/ fulfil it (src/engine/verbs.ts says which). Routes, and every
 * other protocol, use it through the guard, and know no room.
 *
 * Each verb stands on the page of its group with its request, its answer, its refusals (errors.ts) and what it
 * guarantees: src/verbs/enqueue.ts, claims.ts, settle.ts, jobs.ts, queues.ts, counting.ts, operations.ts, schedules.ts,
 * batches.ts, sessions.ts, databases.ts, keys.ts.
 *
 * Units stand in names (`wait_seconds`). Times are RFC 3339, in UTC. Names are those of the API. A verb that has
 * answered has committed.
 */
export interface Verbs
  extends EnqueueVerbs,
    ClaimVerbs,
    SettleVerbs,
    JobVerbs,
    QueueVerbs,
    CountingVerbs,
    OperationVerbs,
    ScheduleVerbs,
    BatchVerbs,
    SessionVerbs,
    DatabaseVerbs,
    KeyVerbs {}

/** Whether enqueues would work. */
export interface Readiness {
  /** Why none would. Undefined: they would, in one of the databases at least. */
  reason?: string | undefined;
  /** Of several databases, those that take no writes now. */
  notReady: { name: string; reason: string }[];
}

/** What an engine gives a protocol. */
export interface Engine {
  /** The verbs for a caller. Each throws `forbidden` for what the caller may not do. */
  as(caller: Caller): Verbs;

  /**
   * The same for a request that asks for the verb `name`, before its body is read. Where that one is audited, `origin`
   * stands in the audit.
   * @throws Refusal `forbidden` when the caller lacks the scope
   */
  admit(caller: Caller, name: VerbName, origin?: TracedOrigin): Verbs;

  /** Whether enqueues would work now, or a moment ago: anybody may ask. @throws Refusal `unavailable` */
  readiness(): Promise<Readiness>;

  /**
   * Runs the writing of metrics, one at a time: thousands of queues take long. Equal answers that wait are written
   * once.
   */
  inMetricsSlot: Look;

  /** The memory budget of this replica. */
  memory: Memory;

  /** What requests hold of this replica now. */
  ledger: Ledger;
}

export type VerbName = keyof Verbs;
export type RequestOf<V extends VerbName> = Parameters<Verbs[V]>[0];
export type AnswerTo<V extends VerbName> = Awaited<ReturnType<Verbs[V]>>;
