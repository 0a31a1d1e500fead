import type { Database } from '../../src/postgres/pool.ts';

/** A database that counts the round trips to it. */
export function counting(db: Database) {
  let count = 0;
  return {
    db: {
      ...db,
      query(statement, parameters) {
        count++;
        return db.query(statement, parameters);
      },
      pipeline(calls, sent) {
        count++;
        return db.pipeline(calls, sent);
      },
    } satisfies Database as Database,
    count: () => count,
  };
}
