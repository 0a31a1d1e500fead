import { FIRST_ID } from '../ids.ts';
import { gathering } from '../postgres/gathering.ts';
import type { Db } from '../postgres/pool.ts';
import { planned, prepared, row } from '../postgres/statements.ts';

const statements = {
  enter: prepared('sessions/enter', row<{ id: string }>()),
  end: planned('sessions/end_guests', row<{ id: string; has_ended: boolean }>()),
  list: planned('sessions/guests', row<{ id: string }>()),
};

/** A replica remembers so many guests of a database. */
const MOST_KNOWN = 10_000;
/** One statement lets so many sessions enter, or lists so many guests. */
const MOST_TOGETHER = 1000;
/** When all guests were looked for in home, the next look is after this time. It finds what somebody failed to tell. */
const LOOK_MS = 5000;

/** The sessions of home, as the other databases see them. */
export interface SessionsAtHome {
  serves(): boolean;
  /** Those of these sessions that have not ended. Undefined: home does not answer. */
  known(sessions: string[]): Promise<Set<string> | undefined>;
}

/** `unknown`: home does not answer, so nobody can tell. */
export type Entered = 'guest' | 'ended' | 'unknown';

/** The guests that this replica knows. A database that is restored may have lost some: claims find it out. */
function createKnown() {
  const known = new Set<string>();
  return {
    has: (session: string): boolean => known.has(session),
    delete: (session: string): unknown => known.delete(session),
    add(session: string): void {
      known.add(session);
      if (known.size <= MOST_KNOWN) return;
      const [oldest] = known;
      known.delete(oldest as string);
    },
  };
}

/**
 * The guests of a database beside home: rows of dibs.sessions, for sessions that are in home. Claims lock them as they lock
 * sessions in home. See docs/decisions/0106-sessions-in-several-databases.md.
 */
export function createGuests({
  db,
  home,
  ending = () => undefined,
}: {
  db: Db;
  home: SessionsAtHome;
  /** Guests have ended, and their leases may not have. */
  ending?: (() => void) | undefined;
}) {
  const known = createKnown();
  let lookFrom = 0;
  let after = FIRST_ID;

  /** Their sessions have ended in home. Returns the guests that are still to end: somebody claims with them. */
  async function end(sessions: string[]): Promise<string[]> {
    if (sessions.length === 0) return [];
    for (const session of sessions) known.delete(session);
    const found = await db.query(statements.end, { sessions });
    if (found.length > 0) ending();
    return found.flatMap(({ id, has_ended }) => (has_ended ? [] : id));
  }

  const enter = gathering<string, Entered>(MOST_TOGETHER, async (asked) => {
    const sessions = [...new Set(asked)].sort();
    const over = new Set((await db.query(statements.enter, { sessions })).map(({ id }) => id));
    // After the commit: a session that ends in home from here on finds its guest.
    const there = await home.known(sessions);
    if (there) await end(sessions.filter((session) => !there.has(session)));
    return asked.map((session) => {
      if (over.has(session)) return 'ended';
      if (!there) return 'unknown';
      if (!there.has(session)) return 'ended';
      known.add(session);
      return 'guest';
    });
  });

  /** Looks for the next guests in home. Those whose sessions are not there end. */
  async function lookAtSome(): Promise<void> {
    const page = await db.query(statements.list, { after, limit: MOST_TOGETHER });
    const sessions = page.map(({ id }) => id);
    const there = sessions.length > 0 ? await home.known(sessions) : new Set<string>();
    if (!there) return;
    await end(sessions.filter((session) => !there.has(session)));
    const isLast = sessions.length < MOST_TOGETHER;
    after = isLast ? FIRST_ID : (sessions.at(-1) as string);
    if (isLast) lookFrom = performance.now() + LOOK_MS;
  }

  return {
    /** Whether claims with this session may lease here, as far as this replica knows. */
    has: known.has,
    forget: known.delete,
    /** Makes a session a guest. It was in home a moment ago, or is known not to be there. */
    enter,
    end,

    /** The part of the duty. The next thousand guests are looked for at each of its runs, then none for a while. */
    async look(): Promise<void> {
      if (performance.now() < lookFrom || !home.serves()) return;
      await lookAtSome();
    },

    /** This database, or home, was away. */
    lookSoon(): void {
      lookFrom = 0;
    },
  };
}

export type Guests = ReturnType<typeof createGuests>;
