import type { Call } from '../postgres/pipeline.ts';
import type { Semaphore } from '../postgres/semaphore.ts';
import type { Statement } from '../postgres/statements.ts';
import type { Db } from '../postgres/transactions.ts';

/**
 * The order of the statements in a round trip. A claim comes last: it sees the jobs that its own round trip enqueues,
 * and the new heads of groups. An enqueue comes first: it locks the queue before anybody locks its jobs. The deletion
 * of a queue locks in the same order, so the two cannot deadlock.
 */
export const ORDER_IN_TRIP = { enqueue: 0, settle: 1, advance: 2, claim: 3 } as const;

/** What goes with a statement of a round trip. */
export interface Along<Row> {
  /** Is called with the rows before the next round trip begins, and before any caller is answered. */
  seen?: ((rows: Row[]) => void) | undefined;
  /** Statements that run before it and after it, in its transaction. Also when it has to run again by itself. */
  before?: Call[];
  behind?: Call[];
  /**
   * It fails (isLockTimeout) when another transaction holds a lock that it needs. Other statements wait for the lock.
   */
  hearsOfLocks?: boolean;
}

/** A Db that can send other statements in the transaction of a statement. */
export interface RoundTripDb extends Db {
  query<Parameters extends object, Row>(
    statement: Statement<Parameters, Row>,
    parameters?: Parameters,
    along?: Along<Row>,
  ): Promise<Row[]>;
}

/** Stands for the number of a round trip whose jobs every later claim of this replica sees. */
export const SEEN = 0;

/** A round trip, as one of its verbs has it. */
export interface RoundTrip {
  /** Later round trips have higher numbers. Work outside of any round trip has none. */
  number: number | undefined;
  /**
   * The first statement of the verb goes with those of the other verbs, in their transaction. Later ones go by
   * themselves.
   */
  db: RoundTripDb;
  /** The round trip goes without this verb. Work that takes long leaves it: the others need not wait for that work. */
  leave(): RoundTrip;
  /** The verb is answered before the next round trip begins. So what its caller sends next can go in that one. */
  answerFirst(): void;
  /** The same round trip for another verb, which begins now. */
  beside(order: number): RoundTrip;
  /**
   * Calls `then` when the first statement of the verb is in the round trip. A claim that begins at that moment can
   * still join it.
   */
  onceGathered(then: () => void): void;
}

/**
 * Runs a verb's work when the next round trip of a queue begins. When none is under way, this begins one, which takes a
 * connection. `turns` bounds how many round trips begin in this way at once.
 */
export type JoinRoundTrip = <T>(
  queueId: number,
  work: (trip: RoundTrip) => Promise<T>,
  turns?: Semaphore,
) => Promise<T>;
