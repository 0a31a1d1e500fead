import type { Db } from '../postgres/pool.ts';
import { prepared, row } from '../postgres/statements.ts';

const reserve = prepared('queues/positions', row<{ position: number }>());

/** The next `count` positions in the order of arrival, ascending. */
export async function nextPositions(db: Db, count: number): Promise<number[]> {
  const rows = await db.query(reserve, { count });
  return rows.map((row) => row.position);
}

/** New positions for jobs, in the order given. Returned by ascending id, as the statements need them. */
export async function positionsFor(db: Db, ids: string[]): Promise<{ ids: string[]; positions: number[] }> {
  const positions = await nextPositions(db, ids.length);
  const places = ids
    .map((id, i) => ({ id, position: positions[i] as number }))
    .sort((a, b) => (a.id < b.id ? -1 : 1));
  return { ids: places.map((place) => place.id), positions: places.map((place) => place.position) };
}
