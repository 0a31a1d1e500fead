import type { Database } from '../../src/postgres/pool.ts';

/** A database that counts the round trips to it, and the statements in them. */
export function counting(db: Database) {
  let count = 0;
  let statements = 0;
  return {
    db: {
      ...db,
      query(statement, parameters) {
        count++;
        statements++;
        return db.query(statement, parameters);
      },
      pipeline(calls, sent) {
        count++;
        statements += calls.length;
        return db.pipeline(calls, sent);
      },
    } satisfies Database as Database,
    count: () => count,
    statements: () => statements,
  };
}
