import type { Ledger } from '../ledger.ts';
import type { Database } from '../postgres/pool.ts';
import { createSemaphore } from '../postgres/semaphore.ts';
import { planned, row } from '../postgres/statements.ts';
import type { SessionLoss } from '../verbs/sessions.ts';

const statements = {
  letGo: planned('sessions/let_go'),
  renew: planned('sessions/renew', row<{ renewed: boolean; held: number } & SessionLook>()),
  keep: planned('sessions/keep', row<{ connection: string; is_there: boolean }>()),
  unheld: planned('sessions/unheld', row<Gone>()),
};

/** What there is to do with the sessions of a database. */
export interface SessionLook {
  are_any: boolean;
  /** Some have ended, and their leases may not have. */
  are_ending: boolean;
  /** When one may end, from the look on. */
  in_ms: number | null;
}

interface Gone {
  session: string;
  connection: string;
}

/** A connection of this replica that holds a session, or is about to. */
export interface Connection extends Gone {
  lost(why: SessionLoss): void;
}

const listed = (some: Gone[]) => ({
  sessions: some.map(({ session }) => session),
  connections: some.map(({ connection }) => connection),
});

/** Tells the database of connections that have ended, with one statement at a time. What fails is told again. */
function createGone(tell: (some: Gone[]) => Promise<unknown>) {
  /** By their names. So nobody is told twice of one, however often it is found. */
  const gone = new Map<string, Gone>();
  let telling: Promise<void> | undefined;

  async function tellAll(): Promise<void> {
    while (gone.size > 0) {
      const told = [...gone.values()];
      await tell(told);
      for (const { connection } of told) gone.delete(connection);
    }
  }

  return {
    areAny: () => gone.size > 0,
    add: (one: Gone): void => void gone.set(one.connection, one),
    tell(): Promise<void> {
      telling ??= tellAll().finally(() => {
        telling = undefined;
      });
      return telling;
    },
  };
}

/** The connections of this replica that hold sessions, and what the database knows of them. */
export function createConnections(context: {
  db: Database;
  ledger: Ledger;
  /** The name of this replica in dibs.session_replicas. */
  replica: string;
  /** The database knows that connections have ended. */
  changed(): void;
  /** A renewal looks at all sessions, too. To be called before it; takes what it saw. */
  looking(): (look: SessionLook) => void;
}) {
  const { db, ledger, replica, changed, looking } = context;
  /** Also those that are about to hold a session. */
  const byName = new Map<string, Connection>();
  /** Those that hold their sessions, by these. */
  const holders = new Map<string, Connection>();
  /** What is told of connections that live, and of those that have ended, does not cross. */
  const inTurn = createSemaphore(1);
  const gone = createGone(async (some) => {
    await inTurn(() => db.query(statements.letGo, listed(some)));
    changed();
  });
  /** It is not known whether all connections still hold their sessions. */
  let isUnsure = false;
  ledger.count('sessions', () => byName.size);

  function lose(one: Connection, why: SessionLoss): void {
    if (!byName.delete(one.connection)) return;
    if (holders.get(one.session) === one) holders.delete(one.session);
    one.lost(why);
  }

  /**
   * The holders keep their sessions, as far as nobody else has them. The others lose them. What a statement has left behind
   * that was taken for failed is let go. It names all sessions, so only the duty does it.
   */
  async function keepAll(): Promise<void> {
    isUnsure = true;
    await inTurn(async () => {
      for (const lost of await db.query(statements.keep, { replica, ...listed([...holders.values()]) })) {
        const one = byName.get(lost.connection);
        if (one) lose(one, lost.is_there ? 'resumed' : 'session_ended');
      }
      const { connections } = listed([...byName.values()]);
      for (const one of await db.query(statements.unheld, { replica, connections }))
        if (!byName.has(one.connection)) gone.add(one);
    });
    isUnsure = false;
    await gone.tell();
  }

  return {
    holders: (): Connection[] => [...holders.values()],
    size: () => byName.size,
    add: (one: Connection): void => void byName.set(one.connection, one),

    /**
     * It holds its session. A connection of this replica that held it has lost it. One of another replica hears of it when
     * that renews its row.
     */
    holds(one: Connection): void {
      const before = holders.get(one.session);
      holders.set(one.session, one);
      if (before) lose(before, 'resumed');
    },

    /** It does not hold its session, as the database says, too. */
    drop: (one: Connection): void => void byName.delete(one.connection),

    /** It ends. Others can resume its session. */
    letGo(one: Connection, why: SessionLoss): void {
      if (!byName.has(one.connection)) return;
      gone.add({ session: one.session, connection: one.connection });
      lose(one, why);
      // If it fails, the duty tells it.
      gone.tell().catch(() => undefined);
    },

    /** Whether `renew` has something to do. */
    areAny: (): boolean => byName.size > 0 || gone.areAny(),

    /** The duty: tells the other replicas that this one lives, and finds out which sessions its connections have lost. */
    async renew(): Promise<boolean> {
      if (byName.size > 0) {
        const looked = looking();
        const [row] = await db.query(statements.renew, { replica });
        if (row) looked(row);
        if (isUnsure || !row?.renewed || row.held !== holders.size) await keepAll();
      }
      await gone.tell();
      return false;
    },

    /** Settles when the database knows which connections have ended. */
    idle: gone.tell,
  };
}
