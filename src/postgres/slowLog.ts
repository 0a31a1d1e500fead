import { createRareLog } from '../rareLog.ts';
import type { Trip, TripWatch } from './trip.ts';

/** After a slow round trip, the parts of the next ones are timed for so long. */
const TIMED_MS = 60_000;
const MOST_REQUESTS = 10;

const rounded = (ms: number): number => Math.round(ms * 10) / 10;

function fieldsOf({ asked, began, connected, ended, isTimed, statements: make }: Trip) {
  const statements = make();
  const commit = isTimed ? statements.find(({ name }) => name === 'commit') : undefined;
  const own = statements.filter((statement) => statement !== commit);
  const requests = [...new Set(statements.flatMap(({ askers }) => askers))].slice(0, MOST_REQUESTS);
  return {
    ms: rounded(ended - asked),
    lockMs: rounded(began - asked),
    connectionMs: rounded(connected - began),
    statements: own.map(({ name, began, ended }) =>
      isTimed ? { name, ms: rounded(ended - began) } : { name },
    ),
    commitMs: commit && rounded(commit.ended - commit.began),
    requests: requests.length > 0 ? requests.map(({ reqId, traceId }) => ({ reqId, traceId })) : undefined,
  };
}

/**
 * Logs round trips that take `slowMs` or longer, with their parts. To time each statement costs messages. So the parts
 * are timed after a slow round trip: of the first one, only the wait for a connection is known.
 */
export function createSlowLog(slowMs: number, log: (fields: object, message: string) => void): TripWatch {
  let timedUntil = Number.NEGATIVE_INFINITY;
  const write = createRareLog<Trip>(
    ({ statements }) =>
      statements()
        .map(({ name }) => name)
        .join(),
    (trip, times) => log({ ...fieldsOf(trip), times }, 'a round trip to the database was slow'),
  );
  return {
    isTimed: () => performance.now() < timedUntil,
    ended(trip) {
      if (trip.ended - trip.asked < slowMs) return;
      timedUntil = performance.now() + TIMED_MS;
      write(trip);
    },
  };
}
