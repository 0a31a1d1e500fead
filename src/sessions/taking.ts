import { gathering } from '../postgres/gathering.ts';
import type { Db } from '../postgres/pool.ts';
import { planned, row } from '../postgres/statements.ts';

const statements = {
  open: planned('sessions/open', row<{ id: string }>()),
  resume: planned('sessions/resume', row<{ id: string; resume_seconds: number }>()),
};

/** An owner has at most so many sessions, over all replicas. */
export const MOST_SESSIONS = 10_000;
/** One statement opens or resumes so many. */
const MOST_TOGETHER = 250;

/** A connection that takes a session. */
interface Taking {
  session: string;
  connection: string;
  owner: string | null;
  /** Null: what the session has. */
  resume_seconds: number | null;
}

const listed = (some: Taking[]) => ({
  sessions: some.map(({ session }) => session),
  connections: some.map(({ connection }) => connection),
  owners: some.map(({ owner }) => owner),
  resume_seconds: some.map(({ resume_seconds }) => resume_seconds),
});

/** A statement names each session once. Those that name it again come in the next rounds, in their order. */
function roundsOf(asked: Taking[]): Taking[][] {
  const rounds: Taking[][] = [];
  const times = new Map<string, number>();
  for (const one of asked) {
    const before = times.get(one.session) ?? 0;
    times.set(one.session, before + 1);
    rounds[before] ??= [];
    rounds[before].push(one);
  }
  return rounds;
}

/**
 * Opens and resumes sessions for connections of this replica. Those that ask while a statement runs share the next one: when
 * a replica stops, its clients all resume at once. See docs/decisions/0008-natural-batching.md.
 */
export function createTaking(db: Db, replica: string) {
  return {
    /** Whether it is open. Else its owner has too many. */
    open: gathering<Taking, boolean>(MOST_TOGETHER, async (asked) => {
      const rows = await db.query(statements.open, { replica, most: MOST_SESSIONS, ...listed(asked) });
      const opened = new Set(rows.map(({ id }) => id));
      return asked.map(({ session }) => opened.has(session));
    }),

    /** Its `resume_seconds`. Undefined: it is not there for this owner. */
    resume: gathering<Taking, number | undefined>(MOST_TOGETHER, async (asked) => {
      const resumed = new Map<Taking, number>();
      for (const round of roundsOf(asked)) {
        const rows = await db.query(statements.resume, { replica, ...listed(round) });
        const secondsOf = new Map(rows.map(({ id, resume_seconds }) => [id, resume_seconds]));
        for (const one of round) {
          const seconds = secondsOf.get(one.session);
          if (seconds !== undefined) resumed.set(one, seconds);
        }
      }
      return asked.map((one) => resumed.get(one));
    }),
  };
}
