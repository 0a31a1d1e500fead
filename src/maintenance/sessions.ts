import type { BulkThrottle } from '../batching/bulkThrottle.ts';
import type { Database } from '../postgres/pool.ts';
import { planned, row } from '../postgres/statements.ts';
import type { Notifier } from '../replicas/notifier.ts';
import type { SessionLook } from '../sessions/connections.ts';
import type { Guests } from '../sessions/guests.ts';
import type { RescueGrace } from './rescueGrace.ts';
import type { EndLeases } from './sweeper.ts';

const statements = {
  look: planned('sessions/look', row<SessionLook>()),
  loseReplicas: planned('sessions/lose_replicas'),
  end: planned('sessions/end', row<{ id: string }>()),
  ended: planned('sessions/ended', row<{ id: string }>()),
  leases: planned('sessions/leases', row<{ queue_id: number; ids: string[] }>()),
  forget: planned('sessions/forget'),
};

const ANY_TIME = '-infinity';
/** Something is in the way: a claim with a session that is to end, or a lock on one of its jobs. */
const AGAIN_MS = 100;
/** Renewals come once a second. What one saw counts so long. */
const RENEWED_MS = 1500;
/** While leases are left alone, it looks again after this time whether they still are. */
const GRACE_MS = 500;

interface Context {
  db: Database;
  notifier: Pick<Notifier, 'hears'>;
  rescueGrace: RescueGrace;
  throttle: BulkThrottle;
  endLeases: EndLeases;
  /** Where there are several databases, in those beside home. */
  guests?: Guests | undefined;
  /**
   * Where there are several databases, in home: ends the guests of these sessions. Returns those sessions that no database
   * needs to hear of any more.
   */
  endGuests?: ((sessions: string[]) => Promise<string[]>) | undefined;
}

/** Takes back the leases of sessions that have ended, and deletes those that have none any more. */
function createEndAll({ db, throttle, endLeases, endGuests }: Context) {
  const chunk = throttle.chunks();
  /** Queues of which it could take back nothing. Their leases may fill a page, so it passes over them until it has seen the others. */
  const held = new Set<number>();

  /** Returns how many leases it found, and how many it took back. */
  async function endSome(limit: number, given_from: string) {
    const queues = await db.query(statements.leases, { limit, given_from, passed: [...held] });
    let ended = 0;
    for (const { queue_id, ids } of queues) {
      const some = await endLeases(queue_id, ids);
      if (some === 0) held.add(queue_id);
      ended += some;
    }
    return { found: queues.reduce((sum, { ids }) => sum + ids.length, 0), ended };
  }

  /** Has the other databases end the guests of sessions that have ended. Returns those of which they know. */
  async function tellOthers(): Promise<{ told: string[] | null; areMore: boolean }> {
    if (!endGuests) return { told: null, areMore: false };
    const ended = (await db.query(statements.ended)).map(({ id }) => id);
    const told = await endGuests(ended);
    return { told, areMore: told.length < ended.length };
  }

  /** Returns true when there is more to do at once, and a number of ms when something was in the way. */
  return async (givenFrom = ANY_TIME): Promise<boolean | number> => {
    // The leases here do not wait for a database that is slow.
    const telling = tellOthers();
    telling.catch(() => undefined);
    let found = 0;
    await chunk(async (limit) => {
      const some = await endSome(limit, givenFrom);
      found = some.found;
      return some.ended;
    });
    const { told, areMore } = await telling;
    if (found > 0) return true;
    if (held.size > 0) {
      held.clear();
      return AGAIN_MS;
    }
    await db.query(statements.forget, { told });
    return areMore ? AGAIN_MS : false;
  };
}

/** The duty that ends sessions, and their leases. While there is no session, it sends nothing. */
export function createSessionDuty(context: Context) {
  const { db, notifier, rescueGrace, guests } = context;
  const endAll = createEndAll(context);
  /** There may be sessions, here or at other replicas. */
  let mayBeAny = true;
  let timesHeard = 0;
  /** What the last renewal saw, when it was answered, and how often something was heard before it was sent. */
  let renewed: { look: SessionLook; at: number; heard: number } | undefined;

  /** A replica that renews needs no look of its own, while nothing is due and nothing new was heard. */
  function lookOfRenewal(): SessionLook | undefined {
    if (!renewed || renewed.heard !== timesHeard) return undefined;
    const { look, at } = renewed;
    const passedMs = performance.now() - at;
    const in_ms = look.in_ms === null ? null : look.in_ms - passedMs;
    const isUsable = passedMs <= RENEWED_MS && !look.are_ending && (in_ms === null || in_ms > 0);
    return isUsable ? { ...look, in_ms } : undefined;
  }

  /**
   * While this database was away, workers could not settle here. So their leases are left alone for the rescue grace, as all
   * leases are.
   */
  async function endAllOfGuests(): Promise<boolean | number> {
    let more: boolean | number = GRACE_MS;
    await rescueGrace.sweeping(async (givenFrom) => {
      more = (await endAll(givenFrom)) || (givenFrom !== undefined && GRACE_MS);
      return false;
    });
    return more;
  }

  async function work(isDue: boolean, areEnding: boolean): Promise<boolean | number> {
    let isLeft = false;
    let ends = areEnding;
    if (isDue)
      await rescueGrace.sweeping(async (givenFrom = ANY_TIME) => {
        await db.query(statements.loseReplicas, { from: givenFrom });
        const ended = await db.query(statements.end, { from: givenFrom });
        ends ||= ended.length > 0;
        isLeft = ended.length === 0;
        return false;
      });
    if (!ends) return isLeft ? AGAIN_MS : false;
    return guests ? endAllOfGuests() : endAll();
  }

  async function lookAndWork(): Promise<boolean | number> {
    const before = timesHeard;
    const look = lookOfRenewal() ?? (await db.query(statements.look))[0];
    if (!look) return false;
    // The look may have missed what was heard meanwhile.
    mayBeAny = look.are_any || timesHeard > before;
    // When some of them end, the duty runs once more (`ending`).
    if (look.are_any) await guests?.look();
    const isDue = look.in_ms !== null && look.in_ms <= 0;
    if (isDue || look.are_ending) {
      const more = await work(isDue, look.are_ending);
      if (more !== false) return more;
      return AGAIN_MS;
    }
    return look.in_ms === null ? false : Math.ceil(look.in_ms) + 1;
  }

  return {
    async run(): Promise<boolean | number> {
      if (!mayBeAny && notifier.hears()) return false;
      try {
        return await lookAndWork();
      } catch (error) {
        guests?.lookSoon();
        throw error;
      }
    },

    mayBeAny: (): boolean => mayBeAny,

    /** To be called before a renewal. What that saw needs no look then. */
    looking(): (look: SessionLook) => void {
      const heard = timesHeard;
      return (look) => {
        renewed = { look, at: performance.now(), heard };
      };
    },

    /** Somebody has opened a session, or may have. */
    heard(): void {
      mayBeAny = true;
      timesHeard++;
    },
  };
}
