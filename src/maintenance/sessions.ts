import type { BulkThrottle } from '../batching/bulkThrottle.ts';
import type { Database } from '../postgres/pool.ts';
import { planned, row } from '../postgres/statements.ts';
import type { Notifier } from '../replicas/notifier.ts';
import type { RescueGrace } from './rescueGrace.ts';
import type { EndLeases } from './sweeper.ts';

const statements = {
  look: planned('sessions/look', row<{ are_any: boolean; are_ending: boolean; in_ms: number | null }>()),
  loseReplicas: planned('sessions/lose_replicas'),
  end: planned('sessions/end', row<{ id: string }>()),
  leases: planned('sessions/leases', row<{ queue_id: number; ids: string[] }>()),
  forget: planned('sessions/forget'),
};

const ANY_TIME = '-infinity';
/** Something is in the way: a claim with a session that is to end, or a lock on one of its jobs. */
const AGAIN_MS = 100;

/** The duty that ends sessions, and their leases. While there is no session, it sends nothing. */
export function createSessionDuty(context: {
  db: Database;
  notifier: Pick<Notifier, 'hears'>;
  rescueGrace: RescueGrace;
  throttle: BulkThrottle;
  endLeases: EndLeases;
}) {
  const { db, notifier, rescueGrace, endLeases } = context;
  const chunk = context.throttle.chunks();
  /** There may be sessions, here or at other replicas. */
  let mayBeAny = true;

  /** Takes back leases of sessions that have ended. Returns how many it found, and how many it took back. */
  async function endSome(limit: number) {
    const queues = await db.query(statements.leases, { limit });
    let ended = 0;
    for (const { queue_id, ids } of queues) ended += await endLeases(queue_id, ids);
    return { found: queues.reduce((sum, { ids }) => sum + ids.length, 0), ended };
  }

  /** Returns true when there is more to do at once, and a number of ms when something was in the way. */
  async function endAll(): Promise<boolean | number> {
    let found = 0;
    const ended = await chunk(async (limit) => {
      const some = await endSome(limit);
      found = some.found;
      return some.ended;
    });
    if (ended > 0) return true;
    if (found > 0) return AGAIN_MS;
    await db.query(statements.forget);
    return false;
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
    return endAll();
  }

  return {
    async run(): Promise<boolean | number> {
      if (!mayBeAny && notifier.hears()) return false;
      const [look] = await db.query(statements.look);
      if (!look) return false;
      mayBeAny = look.are_any;
      const isDue = look.in_ms !== null && look.in_ms <= 0;
      if (isDue || look.are_ending) {
        const more = await work(isDue, look.are_ending);
        if (more !== false) return more;
        return AGAIN_MS;
      }
      return look.in_ms === null ? false : Math.ceil(look.in_ms) + 1;
    },

    mayBeAny: (): boolean => mayBeAny,

    /** Somebody has opened a session, or may have. */
    heard(): void {
      mayBeAny = true;
    },
  };
}
