import pg from 'pg';
import { isUntrusted } from './errorClasses.ts';

/** One line for the same cause in this time, however many calls meet it. */
const AGAIN_MS = 10_000;
const MOST_CAUSES = 50;

/** Why the database did not serve a call: its SQLSTATE and message, or what the driver says. */
export function causeOf(error: unknown): string {
  if (error instanceof pg.DatabaseError) return `${error.message} (SQLSTATE ${error.code})`;
  if (isUntrusted(error)) {
    const { message, code } = error as { message: string; code: string };
    return `Dibs does not trust the database's certificate: ${message} (${code})`;
  }
  if (error instanceof AggregateError) return error.errors.map(causeOf).join('; ');
  return error instanceof Error ? error.message : String(error);
}

/** What an outage log calls the two states. */
const DATABASE = { away: 'the database cannot serve', back: 'the database serves again' };

/** Of the connection that listens: a queue is served without it, but claims that wait hear of jobs a second later. */
export const NOTIFICATIONS = {
  away: 'notifications of other replicas are not heard',
  back: 'notifications of other replicas are heard again',
};

/** Logs the state of the database: each cause of an outage when it is new and then now and then, and its end. */
export function createOutageLog(
  log: { warn(line: string): void; info(line: string): void },
  { away, back } = DATABASE,
) {
  const loggedAt = new Map<string, number>();
  let isDown = false;

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
      isDown = true;
      warn(away, error);
    },

    /** A call was undone each time that it was tried. The database serves others. */
    undone(error: unknown): void {
      warn('a transaction was undone again and again', error);
    },

    /** A call was served. It is on the hot path. */
    served(): void {
      if (!isDown) return;
      isDown = false;
      const last = Math.max(...loggedAt.values());
      if (performance.now() - last >= AGAIN_MS) loggedAt.clear();
      log.info(back);
    },
  };
}

export type OutageLog = ReturnType<typeof createOutageLog>;
