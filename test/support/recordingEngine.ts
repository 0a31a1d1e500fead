import { startEngine } from '../../src/engine.ts';
import { type Database, openDatabase } from '../../src/postgres/pool.ts';
import { noting } from './counting.ts';
import { openOthers, othersOf } from './severalDatabases.ts';

/** An engine that notes the names of the statements in each round trip to its databases. */
export async function recordingEngine(databaseUrl: string) {
  const roundTrips: string[][] = [];
  const noted = (db: Database) => noting(db, (names) => roundTrips.push(names));
  const db = noted(openDatabase(databaseUrl, 5));
  const { others, close } = await openOthers(db, await othersOf(databaseUrl), noted);
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
