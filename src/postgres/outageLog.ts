import pg from 'pg';
import { isOfOneCall, isUntrusted } from './errorClasses.ts';
import { NoServer } from './wrongServer.ts';

/** One line for the same cause in this time, however many calls meet it. */
const AGAIN_MS = 10_000;
const MOST_CAUSES = 50;
/** A database can be asked again when a call is served, and none has failed for so long. */
const AWAY_MS = 500;

/** Why the database did not serve a call: its SQLSTATE and message, or what the driver says. */
export function causeOf(error: unknown): string {
  if (error instanceof pg.DatabaseError) return `${error.message} (SQLSTATE ${error.code})`;
  if (isUntrusted(error)) {
    const { message, code } = error as { message: string; code: string };
    return `Dibs does not trust the database's certificate: ${message} (${code})`;
  }
  if (error instanceof NoServer) return error.message;
  if (error instanceof AggregateError) return error.errors.map(causeOf).join('; ');
  return error instanceof Error ? error.message : String(error);
}

/** What an outage log calls the two states of a database. `name`: where there are several. */
export function statesOf(name?: string) {
  const database = name === undefined ? 'the database' : `the database "${name}"`;
  return { away: `${database} cannot serve`, back: `${database} serves again`, calmMs: 5000 };
}

/** Of the connection that listens: a queue is served without it, but claims that wait hear of jobs a second later. */
export const NOTIFICATIONS = {
  away: 'notifications of other replicas are not heard',
  back: 'notifications of other replicas are heard again',
  calmMs: 0,
};

/**
 * The one place that knows whether the database serves: it takes writes, on the connections that were used last. Logs
 * each cause of an outage when it is new and then now and then, and its end. It has ended when nothing failed for
 * `calmMs`: while some calls fail and others do not, nobody wants to hear of each.
 */
export function createOutageLog(
  log: { warn(line: string): void; info(line: string): void },
  { away, back, calmMs } = statesOf(),
) {
  const loggedAt = new Map<string, number>();
  let failedAt: number | undefined;
  let isAway = false;

  function warn(what: string, error: unknown): void {
    const line = `${what}: ${causeOf(error)}`;
    const now = performance.now();
    if (now - (loggedAt.get(line) ?? Number.NEGATIVE_INFINITY) < AGAIN_MS) return;
    if (loggedAt.size >= MOST_CAUSES) loggedAt.clear();
    loggedAt.set(line, now);
    log.warn(line);
  }

  return {
    failed(error: unknown): void {
      if (!isOfOneCall(error)) {
        failedAt = performance.now();
        isAway = true;
      }
      warn(away, error);
    },

    /** A call was undone each time that it was tried. The database serves others. */
    undone(error: unknown): void {
      warn('a transaction was undone again and again', error);
    },

    /** A call was served, by a connection that takes writes. It is on the hot path. */
    served(): void {
      if (failedAt === undefined) return;
      const calm = performance.now() - failedAt;
      if (calm >= AWAY_MS) isAway = false;
      if (calm < calmMs) return;
      failedAt = undefined;
      const last = Math.max(...loggedAt.values());
      if (performance.now() - last >= AGAIN_MS) loggedAt.clear();
      log.info(back);
    },

    /** From the first failure until the end of the outage. */
    isDown: (): boolean => failedAt !== undefined,

    /** Whether the last calls failed. It ends sooner: requests that were led elsewhere come back. */
    isAway: (): boolean => isAway,
  };
}

/** Knows the state, and logs nothing. */
export const silentOutageLog = () => createOutageLog({ warn: () => undefined, info: () => undefined });

export type OutageLog = ReturnType<typeof createOutageLog>;
