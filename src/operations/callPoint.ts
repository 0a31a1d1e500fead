import type { Db } from '../postgres/pool.ts';
import { planned, row } from '../postgres/statements.ts';

/**
 * The moment of a call, as sql/operations/call_point.sql tells it. sql/shared/there_at_call.sql tells which jobs were
 * there.
 */
export interface CallPoint {
  last_position: number;
  open_transactions: string[];
  next_transaction: number;
}

const statements = {
  callPoint: planned('operations/call_point', row<CallPoint & { oldest: number; looked_from: number }>()),
  openBetween: planned('operations/open_between', row<{ id: string }>()),
};

/** One statement looks at this number of transactions, in about 0.2 s. */
const TRANSACTIONS = 200_000;

/**
 * The moment of a call. It takes a second for each million of transactions that began after the oldest open one that
 * has changed jobs.
 */
export async function callPoint(db: Db): Promise<CallPoint> {
  const [found] = await db.query(statements.callPoint);
  const { oldest, looked_from, ...point } = found as CallPoint & { oldest: number; looked_from: number };
  for (let last = looked_from; last > oldest; last -= TRANSACTIONS) {
    const first = Math.max(oldest, last - TRANSACTIONS);
    const open = await db.query(statements.openBetween, { first, last });
    point.open_transactions = point.open_transactions.concat(open.map(({ id }) => id));
  }
  return point;
}
