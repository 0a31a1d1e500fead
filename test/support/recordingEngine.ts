import { startEngine } from '../../src/engine.ts';
import { type Database, openDatabase } from '../../src/postgres/pool.ts';
import type { Statement } from '../../src/postgres/statements.ts';
import { openOthers, othersOf } from './severalDatabases.ts';

/** An engine that notes the names of the statements in each round trip to its databases. */
export async function recordingEngine(databaseUrl: string) {
  const roundTrips: string[][] = [];
  const note = (statements: Statement[]) => roundTrips.push(statements.map(({ name = '' }) => name));
  const noting = (db: Database): Database => ({
    ...db,
    query(statement, parameters, turn) {
      note([statement as Statement]);
      return db.query(statement, parameters, turn);
    },
    transaction: (work, turn) =>
      db.transaction(
        (inside) =>
          work({
            query(statement, parameters) {
              note([statement as Statement]);
              return inside.query(statement, parameters);
            },
          }),
        turn,
      ),
    pipeline(calls, sent, turn) {
      note(calls.map(({ statement }) => statement));
      return db.pipeline(calls, sent, turn);
    },
  });
  const db = noting(openDatabase(databaseUrl, 5));
  const { others, close } = await openOthers(db, await othersOf(databaseUrl), noting);
  const engine = await startEngine({ listenUrl: databaseUrl, log: () => undefined, db, others });
  return {
    engine,
    roundTrips,
    async stop() {
      await engine.stop();
      await db.close();
      await close();
    },
  };
}
