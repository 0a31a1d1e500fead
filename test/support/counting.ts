import { startEngine } from '../../src/engine.ts';
import { type Database, openDatabase } from '../../src/postgres/pool.ts';
import { createDatabase } from './database.ts';

/** A database that tells the names of the statements of each round trip to it. */
export const noting = (db: Database, note: (names: string[]) => void): Database => ({
  ...db,
  query(statement, parameters, turn) {
    note([statement.name ?? '']);
    return db.query(statement, parameters, turn);
  },
  pipeline(calls, sent, turn) {
    note(calls.map(({ statement: { name = '' } }) => name));
    return db.pipeline(calls, sent, turn);
  },
});

/** A database that counts the round trips to it, and the statements in them. */
export function counting(db: Database) {
  let count = 0;
  let statements = 0;
  return {
    db: noting(db, (names) => {
      count++;
      statements += names.length;
    }),
    count: () => count,
    statements: () => statements,
  };
}

/** An engine on a database of its own. Its round trips are counted, those of its duties too. */
export async function countedEngine() {
  const database = await createDatabase();
  const pool = openDatabase(database.url, 10);
  const { db, count } = counting(pool);
  const engine = await startEngine({ db, listenUrl: database.url, log: () => undefined });
  return {
    engine,
    databaseUrl: database.url,
    count,
    async stop(): Promise<void> {
      await engine.stop();
      await pool.close();
      await database.drop();
    },
  };
}

export type CountedEngine = Awaited<ReturnType<typeof countedEngine>>;
