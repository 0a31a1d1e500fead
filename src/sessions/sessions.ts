import { randomUUID } from 'node:crypto';
import { isOutage, sessionNotFound, tooManySessions, unavailable } from '../errors.ts';
import { isUuid } from '../ids.ts';
import type { Ledger } from '../ledger.ts';
import type { Database } from '../postgres/pool.ts';
import { createSemaphore } from '../postgres/semaphore.ts';
import { planned, prepared, row } from '../postgres/statements.ts';
import type { Notifier } from '../replicas/notifier.ts';
import type { HeldSession, SessionLoss, SessionRequest } from '../verbs/sessions.ts';

const statements = {
  open: planned('sessions/open', row<{ id: string }>()),
  resume: planned('sessions/resume', row<{ resume_seconds: number }>()),
  letGo: planned('sessions/let_go'),
  renew: planned('sessions/renew', row<{ renewed: boolean; held: number }>()),
  keep: planned('sessions/keep', row<{ connection: string; is_there: boolean }>()),
  strays: planned('sessions/strays', row<{ session: string; connection: string }>()),
  find: prepared('sessions/find', row<{ id: string }>()),
};

/** An owner has at most so many sessions, over all replicas. */
export const MOST_SESSIONS = 10_000;
const RESUME_SECONDS = 2;
/** A replica remembers so many sessions with which somebody has claimed here. */
const MOST_KNOWN = 10_000;

/** A connection of this replica that holds a session, or is about to. */
interface Held {
  session: string;
  connection: string;
  isOpen: boolean;
  lose(why: SessionLoss): void;
}

/** What was known of sessions when a claim asked last: whose they are. They may have ended since. */
function createKnown() {
  const owners = new Map<string, string | undefined>();
  return {
    has: (session: string, owner: string | undefined): boolean =>
      owners.has(session) && owners.get(session) === owner,
    forget: (session: string): void => void owners.delete(session),
    add(session: string, owner: string | undefined): void {
      owners.delete(session);
      owners.set(session, owner);
      if (owners.size <= MOST_KNOWN) return;
      const [oldest] = owners.keys();
      owners.delete(oldest as string);
    },
  };
}

/**
 * The sessions that connections of this replica hold. The replica renews one row for all of them
 * (dibs.session_replicas), and the others take it for dead when it does not. See docs/decisions/0105-sessions.md.
 */
export function createSessions({
  db,
  notifier,
  ledger,
  changed = () => undefined,
}: {
  db: Database;
  notifier: Pick<Notifier, 'sessions'>;
  ledger: Ledger;
  /** A session was opened here, or the database knows that its connection has ended. */
  changed?: (() => void) | undefined;
}) {
  const replica = randomUUID();
  /** By the name of the connection. */
  const held = new Map<string, Held>();
  /** Connections that have ended, and of which the database does not know yet. */
  let gone: { session: string; connection: string }[] = [];
  const known = createKnown();
  const inTurn = createSemaphore(1);
  let flushing: Promise<void> | undefined;
  let isClosed = false;
  /** It is not known whether all connections still hold their sessions. */
  let isUnsure = false;
  ledger.count('sessions', () => held.size);

  const open = () => [...held.values()].filter(({ isOpen }) => isOpen);
  const listed = (some: { session: string; connection: string }[]) => ({
    sessions: some.map(({ session }) => session),
    connections: some.map(({ connection }) => connection),
  });

  /** Tells the database of all connections that have ended, with one statement at a time. What fails is told again. */
  async function tellGone(): Promise<void> {
    while (gone.length > 0) {
      const told = gone;
      gone = [];
      try {
        await inTurn(() => db.query(statements.letGo, listed(told)));
        changed();
      } catch (error) {
        gone.push(...told);
        throw error;
      }
    }
  }

  function flush(): Promise<void> {
    flushing ??= tellGone().finally(() => {
      flushing = undefined;
    });
    return flushing;
  }

  /** These connections hold their sessions, as far as nobody else does. The others lose them. */
  async function keepAll(): Promise<void> {
    isUnsure = true;
    await inTurn(async () => {
      const own = open();
      const lost = await db.query(statements.keep, { replica, ...listed(own) });
      for (const { connection, is_there } of lost) {
        const one = held.get(connection);
        if (one) lose(one, is_there ? 'resumed' : 'ended');
      }
      const { connections } = listed([...held.values()]);
      for (const stray of await db.query(statements.strays, { replica, connections }))
        if (!held.has(stray.connection)) gone.push(stray);
    });
    isUnsure = false;
    await flush();
  }

  function lose(one: Held, why: SessionLoss): void {
    if (!held.delete(one.connection)) return;
    one.lose(why);
  }

  function letGo(one: Held, why: SessionLoss): void {
    if (!held.has(one.connection)) return;
    gone.push({ session: one.session, connection: one.connection });
    lose(one, why);
    // If it fails, the duty tells it.
    flush().catch(() => undefined);
  }

  /** @throws Refusal `session_not_found`, `too_many_sessions` */
  async function take(one: Held, { session, owner = null, ...request }: Asked): Promise<number> {
    const taking = { replica, owner, connection: one.connection, session: one.session };
    if (session === undefined) {
      const resume_seconds = request.resume_seconds ?? RESUME_SECONDS;
      const rows = await db.query(statements.open, { ...taking, resume_seconds, most: MOST_SESSIONS });
      if (rows.length === 0) throw tooManySessions(MOST_SESSIONS);
      return resume_seconds;
    }
    const [resumed] = await db.query(statements.resume, {
      ...taking,
      resume_seconds: request.resume_seconds ?? null,
    });
    if (!resumed) throw sessionNotFound(session);
    return resumed.resume_seconds;
  }

  type Asked = Omit<SessionRequest, 'onHangup' | 'owner'> & { owner?: string | null | undefined };

  return {
    /** Whether the duty `session_replicas` has something to do. */
    isHolding: (): boolean => held.size > 0 || gone.length > 0,

    async hold({ onHangup, ...request }: SessionRequest): Promise<HeldSession> {
      const { session } = request;
      if (isClosed) throw unavailable('This replica stops. Try again.', 'not_done');
      if (session !== undefined && !isUuid(session)) throw sessionNotFound(session);
      let told: (why: SessionLoss) => void = () => undefined;
      const lost = new Promise<SessionLoss>((resolve) => {
        told = resolve;
      });
      const one: Held = {
        session: session ?? randomUUID(),
        connection: randomUUID(),
        isOpen: false,
        lose: (why) => told(why),
      };
      const isFirst = held.size === 0;
      held.set(one.connection, one);
      let resume_seconds: number;
      try {
        resume_seconds = await take(one, request);
      } catch (error) {
        // An outage may leave open whether it was taken.
        if (isOutage(error)) letGo(one, 'ended');
        else held.delete(one.connection);
        throw error;
      }
      one.isOpen = true;
      if (isFirst) {
        notifier.sessions();
        changed();
      }
      // Another connection of this replica may have held it. One of another replica hears of it when that renews its row.
      if (session !== undefined) keepAll().catch(() => undefined);
      if (isClosed) letGo(one, 'stopping');
      onHangup?.(() => letGo(one, 'hung_up'));
      return { session: one.session, resume_seconds, lost, letGo: (why) => letGo(one, why) };
    },

    /**
     * Makes sure that a session is there, and of this owner. `isSure`: also if it was there before.
     * @throws Refusal `session_not_found`
     */
    check(session: string, owner: string | undefined, isSure = false): Promise<void> | undefined {
      if (!isSure && known.has(session, owner)) return undefined;
      const isThere = isUuid(session)
        ? db.query(statements.find, { session, owner: owner ?? null }).then((rows) => rows.length > 0)
        : Promise.resolve(false);
      return isThere.then((found) => {
        if (found) known.add(session, owner);
        else {
          known.forget(session);
          throw sessionNotFound(session);
        }
      });
    },

    /** The duty: tells the other replicas that this one lives, and finds out which sessions it has lost. */
    async renew(): Promise<boolean> {
      if (gone.length > 0) await flush();
      if (held.size === 0) return false;
      const [row] = await db.query(statements.renew, { replica });
      if (isUnsure || !row?.renewed || row.held !== open().length) await keepAll();
      return false;
    },

    /** Lets go of all sessions. Nobody can open one here any more. */
    close(): void {
      isClosed = true;
      for (const one of open()) letGo(one, 'stopping');
    },

    /** Settles when the database knows which connections have ended. */
    idle: (): Promise<void> => flush(),
  };
}

export type Sessions = ReturnType<typeof createSessions>;
