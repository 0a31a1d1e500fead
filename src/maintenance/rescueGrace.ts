import { isOutage } from '../errors.ts';
import { isOfOneCall } from '../postgres/errorClasses.ts';
import type { Db } from '../postgres/pool.ts';
import { planned, row } from '../postgres/statements.ts';

const statement = planned('postgres/now', row<{ now: string }>());

/** A sweep that begins so long after the last one ended comes from a process that stood still. */
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
 * The rescue grace (docs/decisions/0079-rescue-grace.md). A worker cannot extend its leases while the database, or every
 * replica, is away. So when a replica has come back, it takes back no lease that was given before, for some seconds: workers
 * that live extend first. Whoever was there all the time needs no grace, and rescues as ever: restarting one replica of two
 * delays nothing.
 */
export function createRescueGrace({ db, rest, seconds, reachable, log }: Context) {
  /** What was before the start is not known. */
  let isNew = true;
  let wasAway = true;
  let endedAt = performance.now();
  let grace: { givenFrom: string; until: number } | undefined;
  const graceMs = seconds * 1000;
  let isReachable = false;
  reachable.then(() => {
    isReachable = true;
    if (grace) grace.until = performance.now() + graceMs;
  });

  const isOver = () => grace !== undefined && isReachable && performance.now() >= grace.until;

  async function begin(): Promise<void> {
    const [row] = await db.query(statement);
    if (!row) return;
    grace = { givenFrom: row.now, until: performance.now() + graceMs };
    if (!isNew) log(`leases that ran out meanwhile are taken back in ${seconds} s, unless they are extended`);
    isNew = false;
    wasAway = false;
  }

  function lookedAway(error: unknown): void {
    if (isOutage(error) && !isOfOneCall(error)) wasAway = true;
  }

  return {
    /** Hears why a statement failed that is part of the rescue of leases. */
    failed: lookedAway,

    /**
     * Runs a sweep. It may take back the leases that were given from `givenFrom` on (undefined: all that ran out). Each time
     * `givenFrom` changes, all is looked through anew.
     */
    async sweeping(sweep: (givenFrom: string | undefined) => Promise<boolean>): Promise<boolean> {
      if (performance.now() - endedAt - rest.dozedSince(endedAt) > STOOD_STILL_MS) wasAway = true;
      try {
        if (wasAway && seconds > 0) await begin();
        if (isOver()) grace = undefined;
        // One that rests tells the others what is due, and does not know which leases they leave alone.
        if (grace) rest.stayAwake();
        return await sweep(grace?.givenFrom);
      } catch (error) {
        lookedAway(error);
        throw error;
      } finally {
        endedAt = performance.now();
      }
    },
  };
}

export type RescueGrace = ReturnType<typeof createRescueGrace>;
