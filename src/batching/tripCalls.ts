import { isLockTimeout } from '../postgres/errorClasses.ts';
import { SHORT_LOCK_WAIT_MS } from '../postgres/lockWait.ts';
import type { Call, Rows } from '../postgres/pipeline.ts';
import type { Statement } from '../postgres/statements.ts';
import { inTurnOf, type Transactions, type TransactionsInTurns } from '../postgres/transactions.ts';
import type { Along, RoundTrip } from './roundTrip.ts';

/** A statement of a verb, with what goes along with it. */
type CallAlong = Call & { along: Along<never> };

/** A statement that a verb has put into a round trip. */
export interface TripCall extends CallAlong {
  order: number;
  /** Its verb is answered before the next round trip begins. */
  isFirst: boolean;
  resolve(rows: unknown[]): void;
  reject(error: unknown): void;
}

/** Runs statements, and what goes along with each, in one transaction. Returns the rows of the statements only. */
async function runTogether(
  db: Pick<Transactions, 'pipeline'>,
  calls: CallAlong[],
  sent?: () => void,
): Promise<Rows[]> {
  const all = calls.flatMap(({ along, ...call }) => {
    const others = (beside: Call[] = []) => beside.map((other) => ({ askers: call.askers, ...other }));
    return [...others(along.before), call, ...others(along.behind)];
  });
  const results = await db.pipeline(all, sent);
  let at = 0;
  return calls.map(({ along: { before = [], behind = [] } }) => {
    const rows = results[at + before.length];
    at += before.length + 1 + behind.length;
    return rows as Rows;
  });
}

async function runOne(db: Transactions, call: CallAlong): Promise<Rows> {
  const [rows] = (await runTogether(db, [call])) as [Rows];
  call.along.seen?.(rows as never[]);
  return rows;
}

const answer = (db: Transactions, call: TripCall): Promise<void> => runOne(db, call).then(call.resolve);

/** Work outside of any round trip: each statement goes by itself. */
function outside(trying: Transactions, waiting: Transactions): RoundTrip {
  const trip: RoundTrip = {
    number: undefined,
    db: {
      query<Parameters extends object, Row>(
        statement: Statement<Parameters, Row>,
        parameters?: Parameters,
        along: Along<Row> = {},
      ) {
        const call = { statement: statement as Call['statement'], parameters: parameters ?? {}, along };
        return runOne(along.hearsOfLocks ? trying : waiting, call) as Promise<Row[]>;
      },
    },
    leave: () => trip,
    beside: () => trip,
    answerFirst: () => undefined,
    onceGathered: () => undefined,
  };
  return trip;
}

/**
 * Runs the statements of a queue. Those of a round trip wait for a lock for SHORT_LOCK_WAIT_MS. A statement that meets
 * the lock again, alone, waits for it. `isCautious`: it fails instead (isLockTimeout).
 */
export function createTripCalls(db: TransactionsInTurns, queue: number, isCautious: boolean) {
  const trying = inTurnOf(db, { queue, tryMs: SHORT_LOCK_WAIT_MS });
  const waiting = isCautious ? trying : inTurnOf(db, { queue });

  /**
   * A statement failed, and was undone. If a lock was in its way, it runs once more, and waits for the lock while the
   * next round trips run.
   */
  function failed(call: TripCall, error: unknown): void {
    if (isCautious || call.along.hearsOfLocks || !isLockTimeout(error)) call.reject(error);
    else answer(inTurnOf(db, { queue, isHeld: true }), call).catch(call.reject);
  }

  return {
    alone: outside(trying, waiting),

    /** Runs the statements of a round trip. */
    together: (calls: TripCall[], sent: () => void): Promise<Rows[]> => runTogether(trying, calls, sent),

    /** One of the statements failed, and all are undone. Runs each by itself: the others must not fail for it. */
    async again(calls: TripCall[], error: unknown): Promise<void> {
      if (calls.length === 1) failed(calls[0] as TripCall, error);
      else for (const call of calls) await answer(trying, call).catch((reason) => failed(call, reason));
    },
  };
}

export type TripCalls = ReturnType<typeof createTripCalls>;
