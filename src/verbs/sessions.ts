import type { Waits } from './callers.ts';

/** Why a session is held no longer by the connection that held it. */
export const SESSION_LOSSES = [
  /** The client is gone. */
  'hung_up',
  /** Another connection has resumed it. */
  'resumed',
  /** It has ended: the database could not be told in time that the connection lives. */
  'session_ended',
  /** This replica stops. */
  'stopping',
  /** The caller may do nothing any more. */
  'revoked',
] as const;
export type SessionLoss = (typeof SESSION_LOSSES)[number];

/** Opens a session, or resumes the session `session`. */
export interface SessionRequest extends Waits {
  /** 0 to 60. 2, if it is left out. A resumed session keeps what it has. */
  resume_seconds?: number | undefined;
  session?: string | undefined;
  /** Whose session it is. Undefined: nobody needs a key. */
  owner?: string | undefined;
}

/** A session, as the connection has it that holds it. */
export interface HeldSession {
  session: string;
  resume_seconds: number;
  /** Settles when this connection holds it no longer. */
  lost: Promise<SessionLoss>;
  /** Lets go of it. Others can resume it for `resume_seconds`. */
  letGo(why: SessionLoss): void;
}

/** Leases that end with the connection of their worker. */
export interface SessionVerbs {
  /**
   * Opens a session and holds it until the client is gone, or resumes one. A session of which no connection was held for
   * `resume_seconds` ends: its leases end as if they had run out, and nobody can settle them.
   * Guarantee: no lease is tied to a session that has ended. When a replica dies, the connections that it held have ended
   * within 3 s.
   * @throws Refusal `session_not_found`, `too_many_sessions`, `overloaded`, `unavailable`
   */
  holdSession(request: SessionRequest): Promise<HeldSession>;
}
