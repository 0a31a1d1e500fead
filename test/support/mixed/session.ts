import type { Lease } from '../history.ts';
import { type HeldSession, holdSession } from '../sessions.ts';
import type { Random } from './random.ts';
import type { World } from './world.ts';

/**
 * The session of a worker, which it holds most of the time. Its leases may end as soon as its connection is lost: then none is
 * certain any more. One that is resumed in time keeps them: then they are as before.
 */
export function workerSession({ cluster, record }: World, random: Random) {
  let held: HeldSession | undefined;
  let lostAt: number | undefined;
  const leases = new Set<Lease>();
  const before = new Map<Lease, Pick<Lease, 'until' | 'ends'>>();

  function uncertain(lease: Lease): void {
    if (lostAt === undefined || !leases.has(lease)) return;
    before.set(lease, { until: lease.until, ends: lease.ends });
    lease.until = Math.min(lease.until, lostAt);
    lease.ends = Math.min(lease.ends, lostAt);
  }

  function lost(): void {
    lostAt = Date.now();
    for (const lease of leases) uncertain(lease);
  }

  function forget(): void {
    held = undefined;
    leases.clear();
    before.clear();
  }

  async function hold(body: object, what: string): Promise<HeldSession | undefined> {
    const session = await holdSession(cluster.url(random), body).catch(() => undefined);
    record.count(`sessions ${session ? what : `not ${what}`}`);
    if (!session) return undefined;
    lostAt = undefined;
    session.over.then(() => held === session && lostAt === undefined && lost());
    held = session;
    return session;
  }

  async function resume(session: string): Promise<void> {
    if (!(await hold({ session }, 'resumed'))) return;
    for (const [lease, { until, ends }] of before) {
      if (lease.settled === undefined || lease.settled.outcome === 'refused') lease.until = until;
      lease.ends = ends;
    }
    before.clear();
  }

  function hangUp(): void {
    if (!held || lostAt !== undefined) return;
    lost();
    held.hangUp();
    record.count('sessions hung up');
  }

  return {
    /** What a claim says of it. */
    claimed: () => (held && lostAt === undefined ? { session: held.id } : {}),

    /** These leases were claimed with it. */
    tied(session: string | undefined, claimed: Lease[]): void {
      if (session === undefined) return;
      for (const lease of claimed) {
        if (session === held?.id) leases.add(lease);
        else lease.until = Math.min(lease.until, lease.taken);
        uncertain(lease);
      }
    },

    /** A lease may have been extended. */
    extended: uncertain,

    /** Opens a session, resumes the one that was lost, or hangs up like a worker that is killed. */
    async turn(): Promise<void> {
      if (!held) {
        if (random.chance(0.2)) await hold({ resume_seconds: random.oneOf([0, 1, 4]) }, 'opened');
      } else if (lostAt !== undefined) {
        if (random.chance(0.8)) await resume(held.id);
        if (lostAt !== undefined && Date.now() > lostAt + 5000) forget();
      } else if (random.chance(0.03)) hangUp();
    },

    /** It has ended: a claim with it was refused. */
    forget,
    hangUp,
  };
}

export type WorkerSession = ReturnType<typeof workerSession>;
