import type pg from 'pg';
import { columnTypes } from './columnTypes.ts';
import { isClaimTaken, isDataError, isLockTimeout, isTimeLimit } from './errorClasses.ts';
import { inTime } from './inTime.ts';
import { type Call, hasOwnLimit, Pipeline, type Rows, waitMsFor } from './pipeline.ts';
import { sessionCalls } from './session.ts';
import type { TripNotes } from './trip.ts';

/* How statements run on one connection, and what is known of the connection afterwards. */

/** Connections to a server that takes no writes. */
const readOnly = new WeakSet<pg.ClientBase>();

/** Refusals of the server after which the connection is as it was before. */
const harmless = new WeakSet<object>();

export const takesWrites = (client: pg.ClientBase): boolean => !readOnly.has(client);

/**
 * Whether the connection on which it came can be used again. Many statements may meet the lock of another transaction,
 * a claim that another request has, or a short time limit of their own.
 */
export const isHarmless = (error: unknown): boolean => harmless.has(error as object);

/** Runs one command, such as `commit`. */
export const runText = (client: pg.ClientBase, text: string, limitMs: number): Promise<unknown> =>
  inTime(limitMs, (done) => client.query(text, done));

/**
 * Runs statements in one round trip. Each waits for a lock for `lockWaitMs`, and the client for all of them for
 * `limitMs`. It does not use the driver's own prepared statements: their names would clash with those of the pipelines.
 */
export async function runCalls(
  client: pg.ClientBase,
  calls: Call[],
  notes: TripNotes,
  { lockWaitMs, limitMs = waitMsFor(calls) }: { lockWaitMs: number; limitMs?: number },
): Promise<Rows[]> {
  const pipeline = new Pipeline(calls, columnTypes.getTypeParser, {
    lockWaitMs,
    isTimed: notes.isTimed(calls),
    session: sessionCalls(client),
  });
  const from = performance.now();
  const ran = (results?: Rows[]) =>
    notes.ran({ calls, from, ends: pipeline.ends, rows: results?.map(({ length }) => length) });
  try {
    const results = await inTime<Rows[]>(limitMs, (done) => {
      pipeline.callback = done;
      client.query(pipeline);
    });
    ran(results);
    if (pipeline.isReadOnly) readOnly.add(client);
    return results;
  } catch (error) {
    ran();
    const isRefused =
      isLockTimeout(error) ||
      isDataError(error) ||
      isClaimTaken(error) ||
      (hasOwnLimit(calls) && isTimeLimit(error));
    if (isRefused && pipeline.isSure) harmless.add(error as object);
    throw error;
  }
}
