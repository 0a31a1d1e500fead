import type { Database } from '../../src/postgres/pool.ts';

/** A database that counts the round trips to it, and the statements in them. */
export function counting(db: Database) {
  let count = 0;
  let statements = 0;
  return {
    db: {
      ...db,
      query(statement, parameters, turn) {
        count++;
        statements++;
        return db.query(statement, parameters, turn);
      },
      pipeline(calls, sent, turn) {
        count++;
        statements += calls.length;
        return db.pipeline(calls, sent, turn);
      },
    } satisfies Database as Database,
    count: () => count,
    statements: () => statements,
  };
}
