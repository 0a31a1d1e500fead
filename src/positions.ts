import type { Db } from './db.ts';
import { prepared } from './sql.ts';

const reserve = prepared('positions');

/** The next `count` places in the order of arrival, ascending. */
export async function nextPositions(db: Db, count: number): Promise<number[]> {
  const rows = await db.query<{ position: number }>(reserve, [count]);
  return rows.map((row) => row.position);
}
