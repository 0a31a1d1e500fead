import { isOutage } from '../errors.ts';
import { isOfOneCall } from '../postgres/errorClasses.ts';
import type { Db } from '../postgres/pool.ts';
import { planned, row } from '../postgres/statements.ts';

const statement = planned('maintenance/now_if_writable', row<{ now: string; is_read_only: boolean }>());

/** When a sweep begins this long after the end of the last one, the process or its machine stood still meanwhile. */
const STOOD_STILL_MS = 4000;

interface Context {
  db: Db;
  rest: {
    /** For how many of the milliseconds since `at` it rested. */
    dozedSince(at: number): number;
    stayAwake(): void;
  };
  seconds: number;
  /** When requests can reach this replica. Its first grace begins then. */
  reachable: Promise<unknown>;
  log(line: string): void;
}

/**
 * The rescue grace (docs/decisions/0079-rescue-grace.md). A worker cannot extend its leases while the database, or
 * every replica, is away. So when a replica has come back, it takes back no lease that was given before, for some
 * seconds: workers that live extend first. Whoever was there all the time needs no grace, and rescues as ever:
 * restarting one replica of two delays nothing.
 */
export function createRescueGrace({ db, rest, seconds, reachable, log }: Context) {
  /** It has not begun a grace yet. The first one is that of the start, and leaves no line in the log. */
  let isNew = true;
  let wasAway = true;
  let ended = { at: performance.now(), date: Date.now() };
  let grace: { givenFrom: string; until: number } | undefined;
  const graceMs = seconds * 1000;
  let isReachable = false;
  reachable.then(() => {
    isReachable = true;
    if (grace) grace.until = performance.now() + graceMs;
  });

  const isOver = () => grace !== undefined && isReachable && performance.now() >= grace.until;

  /** Begins the grace, if the database takes writes again. */
  async function begin(): Promise<boolean> {
    const [row] = await db.query(statement);
    if (!row || row.is_read_only) return false;
    // While a table is locked for long, sweeps fail again and again: each lengthens the grace, and the first one is told.
    const isLonger = grace !== undefined && !isOver();
    grace = { givenFrom: row.now, until: performance.now() + graceMs };
    if (!isNew && !isLonger)
      log(
        `after the outage, leases from before are left alone for ${seconds} s, so that workers extend them`,
      );
    isNew = false;
    wasAway = false;
    return true;
  }

  /** The monotonic clock stands still with a machine that is suspended. So this goes by the date. */
  const stoodStill = () => Date.now() - ended.date - rest.dozedSince(ended.at) > STOOD_STILL_MS;

  function lookedAway(error: unknown): void {
    if (isOutage(error) && !isOfOneCall(error)) wasAway = true;
  }

  return {
    /** Hears why a statement failed that is part of the rescue of leases. */
    failed: lookedAway,

    /**
     * Runs a sweep. It may take back the leases that were given from `givenFrom` on (undefined: all that ran out). Each
     * time `givenFrom` changes, all is looked through anew.
     */
    async sweeping(sweep: (givenFrom: string | undefined) => Promise<boolean>): Promise<boolean> {
      if (stoodStill()) wasAway = true;
      try {
        if (wasAway && seconds > 0 && !(await begin())) return false;
        if (isOver()) grace = undefined;
        // A replica that rests goes by due looks, its own and those of others. These know of no leases that are left
        // alone.
        if (grace) rest.stayAwake();
        return await sweep(grace?.givenFrom);
      } catch (error) {
        lookedAway(error);
        throw error;
      } finally {
        ended = { at: performance.now(), date: Date.now() };
      }
    },
  };
}

export type RescueGrace = ReturnType<typeof createRescueGrace>;
