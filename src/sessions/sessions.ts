import { randomUUID } from 'node:crypto';
import { isOutage, sessionNotFound, tooManySessions, unavailable } from '../errors.ts';
import { isUuid } from '../ids.ts';
import type { Ledger } from '../ledger.ts';
import type { Database } from '../postgres/pool.ts';
import type { Notifier } from '../replicas/notifier.ts';
import type { HeldSession, SessionLoss, SessionRequest } from '../verbs/sessions.ts';
import { type Connection, createConnections, type SessionLook } from './connections.ts';
import { createKnownSessions } from './known.ts';
import { createTaking, MOST_SESSIONS } from './taking.ts';

const RESUME_SECONDS = 2;

/** A connection that is about to hold a session. `lost` settles when it holds it no longer. */
function newConnection(session: string = randomUUID()): { one: Connection; lost: Promise<SessionLoss> } {
  let told: (why: SessionLoss) => void = () => undefined;
  const lost = new Promise<SessionLoss>((resolve) => {
    told = resolve;
  });
  return { one: { session, connection: randomUUID(), lost: (why) => told(why) }, lost };
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
  looking = () => () => undefined,
}: {
  db: Database;
  notifier: Pick<Notifier, 'sessions'>;
  ledger: Ledger;
  /** A session was opened here, or the database knows that its connection has ended. */
  changed?: (() => void) | undefined;
  /** A renewal looks at all sessions, too. To be called before it; takes what it saw. */
  looking?: () => (look: SessionLook) => void;
}) {
  const replica = randomUUID();
  const connections = createConnections({ db, ledger, replica, changed, looking });
  const taking = createTaking(db, replica);
  let isClosed = false;

  /** Returns the `resume_seconds`. @throws Refusal `session_not_found`, `too_many_sessions` */
  async function take({ session, connection }: Connection, request: SessionRequest): Promise<number> {
    const owner = request.owner ?? null;
    if (request.session === undefined) {
      const { resume_seconds = RESUME_SECONDS } = request;
      const isOpen = await taking.open({ session, connection, owner, resume_seconds });
      if (!isOpen) throw tooManySessions(MOST_SESSIONS);
      return resume_seconds;
    }
    const resume_seconds = request.resume_seconds ?? null;
    const resumed = await taking.resume({ session, connection, owner, resume_seconds });
    if (resumed === undefined) throw sessionNotFound(request.session);
    return resumed;
  }

  return {
    check: createKnownSessions(db),
    renew: connections.renew,
    /** Whether `renew` has something to do. */
    isHolding: connections.areAny,
    idle: connections.idle,

    /** The verb: opens or resumes a session. */
    async hold(request: SessionRequest): Promise<HeldSession> {
      const { session, onHangup } = request;
      if (isClosed) throw unavailable('This replica stops. Try again.', 'not_done');
      if (session !== undefined && !isUuid(session)) throw sessionNotFound(session);
      const { one, lost } = newConnection(session);
      const isFirst = connections.size() === 0;
      connections.add(one);
      const letGo = (why: SessionLoss) => connections.letGo(one, why);
      let resume_seconds: number;
      try {
        resume_seconds = await take(one, request);
      } catch (error) {
        // An outage may leave open whether it was taken.
        if (isOutage(error)) letGo('session_ended');
        else connections.drop(one);
        throw error;
      }
      connections.holds(one);
      if (isFirst) {
        notifier.sessions();
        changed();
      }
      if (isClosed) letGo('stopping');
      onHangup?.(() => letGo('hung_up'));
      return { session: one.session, resume_seconds, lost, letGo };
    },

    /** Lets go of all sessions. Nobody can hold one here any more. */
    close(): void {
      isClosed = true;
      for (const one of connections.holders()) connections.letGo(one, 'stopping');
    },
  };
}

export type Sessions = ReturnType<typeof createSessions>;
