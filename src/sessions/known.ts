import { sessionNotFound } from '../errors.ts';
import { isUuid } from '../ids.ts';
import type { Db } from '../postgres/pool.ts';
import { prepared, row } from '../postgres/statements.ts';

const statement = prepared('sessions/find', row<{ id: string }>());

/** A replica remembers so many sessions with which somebody has claimed here. */
const MOST_KNOWN = 10_000;

/** Tells claims whether their sessions are there. It remembers whose a session is: that does not change. */
export function createKnownSessions(db: Db) {
  const owners = new Map<string, string | undefined>();

  function add(session: string, owner: string | undefined): void {
    owners.delete(session);
    owners.set(session, owner);
    if (owners.size <= MOST_KNOWN) return;
    const [oldest] = owners.keys();
    owners.delete(oldest as string);
  }

  async function find(session: string, owner: string | undefined): Promise<void> {
    const rows = isUuid(session) ? await db.query(statement, { session, owner: owner ?? null }) : [];
    if (rows.length > 0) {
      add(session, owner);
      return;
    }
    owners.delete(session);
    throw sessionNotFound(session);
  }

  /**
   * Makes sure that a session is there, and of this owner. `isSure`: it has not ended. Without, one that was there before may
   * have.
   * @throws Refusal `session_not_found`
   */
  return (session: string, owner: string | undefined, isSure = false): Promise<void> | undefined =>
    !isSure && owners.has(session) && owners.get(session) === owner ? undefined : find(session, owner);
}
