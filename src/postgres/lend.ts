import type pg from 'pg';
import { cancelSafely } from './cancel.ts';
import { connectionOptions, hostUrlOf } from './connection.ts';
import { readOnly } from './errorClasses.ts';
import { isClientTimeout } from './inTime.ts';
import type { OutageLog } from './outageLog.ts';
import { ROUND_TRIP_MS } from './pipeline.ts';
import { isHarmless, runText, takesWrites } from './run.ts';
import { processIdOf } from './session.ts';
import { type TripNotes, type TripWatch, watchTrip } from './trip.ts';
import { createWaitingCommits } from './waitingCommits.ts';
import { WrongServer } from './wrongServer.ts';

/**
 * Lends a connection of the pool for work that was `asked` for at that time. Work that is `whole` leaves no transaction
 * open when it fails.
 */
export type Lend = <T>(
  work: (client: pg.PoolClient, notes: TripNotes) => Promise<T>,
  loan: { asked: number; whole: boolean },
) => Promise<T>;

/**
 * Each connection comes back to the pool, or is closed: that rolls back its transaction. `watch` hears of each
 * transaction.
 */
export function createLend(context: {
  pool: pg.Pool;
  url: string;
  log: OutageLog;
  watch: TripWatch | undefined;
}): Lend {
  const { pool, url, log, watch } = context;

  const waiting = createWaitingCommits(pool.options.max);

  async function endWork(client: pg.PoolClient): Promise<void> {
    const options = connectionOptions(hostUrlOf(client, url));
    if (await cancelSafely(client, options)) waiting.note(processIdOf(client), options);
  }

  function takeBack(client: pg.PoolClient): void {
    // What it read is answered. The next connection may find a server that takes writes.
    const isGood = takesWrites(client);
    if (isGood) log.served();
    else log.failed(readOnly());
    client.release(!isGood);
  }

  function takeBackAfter(error: unknown, client: pg.PoolClient, whole: boolean): void {
    if (isClientTimeout(error)) void endWork(client);
    if (!isHarmless(error)) client.release(true);
    else if (whole) client.release();
    else
      runText(client, 'rollback', ROUND_TRIP_MS).then(
        () => client.release(),
        () => client.release(true),
      );
  }

  return async (work, { asked, whole }) => {
    if (waiting.isFull()) throw new WrongServer('its commits wait for a synchronous standby');
    const notes = watchTrip(watch, asked);
    const client = await pool.connect();
    notes.connected();
    try {
      const result = await work(client, notes);
      notes.end();
      takeBack(client);
      return result;
    } catch (error) {
      notes.end();
      takeBackAfter(error, client, whole);
      throw error;
    }
  };
}
