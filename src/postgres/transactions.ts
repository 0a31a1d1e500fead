import type { InTurn, LockTurn } from './lockWait.ts';
import { withLongEncoded } from './longParameters.ts';
import type { Call, Rows } from './pipeline.ts';
import type { Statement } from './statements.ts';

/** Runs statements. Every outage is thrown as the refusal `unavailable`. */
export interface Db {
  query<Parameters extends object, Row>(
    statement: Statement<Parameters, Row>,
    parameters?: Parameters,
  ): Promise<Row[]>;
}

/** Runs transactions. */
export interface Transactions extends Db {
  /** Runs `work` in one transaction, and again after a failure that isRetryable, or after a lock in its way. */
  transaction<T>(work: (db: Db) => Promise<T>): Promise<T>;
  /**
   * Runs statements in one transaction and one round trip, and returns the rows of each. It calls `sent` when they are
   * on their way.
   */
  pipeline(calls: Call[], sent?: () => void): Promise<Rows[]>;
}

/** Runs transactions. What meets a lock of another transaction waits in somebody's turn: see lockWait.ts. */
export interface TransactionsInTurns extends Transactions {
  query<Parameters extends object, Row>(
    statement: Statement<Parameters, Row>,
    parameters?: Parameters,
    turn?: LockTurn,
  ): Promise<Row[]>;
  transaction<T>(work: (db: Db) => Promise<T>, turn?: LockTurn): Promise<T>;
  pipeline(calls: Call[], sent?: () => void, turn?: LockTurn): Promise<Rows[]>;
}

/** Runs transactions, which wait for locks in this turn. */
export const inTurnOf = (db: TransactionsInTurns, turn: LockTurn): Transactions => ({
  query: (statement, parameters) => db.query(statement, parameters, turn),
  transaction: (work) => db.transaction(work, turn),
  pipeline: (calls, sent) => db.pipeline(calls, sent, turn),
});

/** An attempt of what was `asked` for at that time. Each statement waits so long for a lock. */
export interface Attempt {
  lockWaitMs: number;
  asked: number;
}

/** Runs transactions, once each. */
export interface Attempts {
  pipeline(calls: Call[], attempt: Attempt, sent?: () => void): Promise<Rows[]>;
  transaction<T>(work: (db: Db) => Promise<T>, attempt: Attempt): Promise<T>;
}

/** Runs transactions by attempts, each in its turn. */
export function inTurns(attempts: Attempts, inTurn: InTurn): TransactionsInTurns {
  const pipeline = async (calls: Call[], sent?: () => void, turn: LockTurn = {}) => {
    const encoded = await withLongEncoded(calls);
    const asked = performance.now();
    const attempt = (lockWaitMs: number) => attempts.pipeline(encoded, { lockWaitMs, asked }, sent);
    return inTurn(attempt, turn, calls[0]?.statement.file);
  };
  return {
    async query<Parameters extends object, Row>(
      statement: Statement<Parameters, Row>,
      parameters?: Parameters,
      turn?: LockTurn,
    ) {
      const [rows] = await pipeline([{ statement, parameters: parameters ?? {} }], undefined, turn);
      return rows as Row[];
    },
    pipeline,
    transaction(work, turn = {}) {
      const asked = performance.now();
      return inTurn((lockWaitMs) => attempts.transaction(work, { lockWaitMs, asked }), turn);
    },
  };
}
