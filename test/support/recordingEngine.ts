import { startEngine } from '../../src/engine.ts';
import { openDatabase } from '../../src/postgres/pool.ts';

/** An engine that notes the names of the statements in each round trip to its database. */
export async function recordingEngine(databaseUrl: string) {
  const roundTrips: string[][] = [];
  const db = openDatabase(databaseUrl, 5);
  const pipeline: typeof db.pipeline = (calls, sent, turn) => {
    roundTrips.push(calls.map(({ statement: { name = '' } }) => name));
    return db.pipeline(calls, sent, turn);
  };
  const log = () => undefined;
  const engine = await startEngine({ listenUrl: databaseUrl, log, db: { ...db, pipeline } });
  return {
    engine,
    roundTrips,
    async stop() {
      await engine.stop();
      await db.close();
    },
  };
}
