import { sessionsAway } from '../errors.ts';
import { type Call, callOf } from '../postgres/pipeline.ts';
import type { Db } from '../postgres/pool.ts';
import { planned, prepared, row } from '../postgres/statements.ts';
import type { Guests } from '../sessions/guests.ts';
import { type Claim, wantOnly } from './claim.ts';

/* Claims whose leases are tied to sessions. See docs/decisions/0105-sessions.md, and 0106 for several databases. */

const statements = {
  hold: prepared('claim/hold_sessions'),
  known: planned('sessions/known', row<{ id: string }>()),
};

const sessionsOf = (claims: Claim[]): string[] => [
  ...new Set(claims.flatMap(({ session }) => (session === undefined ? [] : [session]))),
];

/**
 * The call that claims with sessions need before a claiming statement, in its transaction. It fails (isSessionEnded)
 * when one of the sessions has ended, and keeps the others from ending meanwhile.
 */
export function holdCalls(claims: Claim[]): Call[] {
  const sessions = sessionsOf(claims);
  return sessions.length > 0 ? [callOf(statements.hold, { sessions })] : [];
}

/**
 * After a transaction failed (isSessionEnded): finds out which claims may not lease, and notes it in them. Where sessions
 * are guests, the next look asks home.
 */
export async function noteEnded(db: Db, claims: Claim[], guests?: Guests): Promise<void> {
  const rows = await db.query(statements.known, { sessions: sessionsOf(claims) });
  const known = new Set(rows.map(({ id }) => id));
  for (const claim of claims) {
    if (claim.session === undefined || known.has(claim.session)) continue;
    if (guests) guests.forget(claim.session);
    else wantOnly(claim, 'ended');
  }
}

/** The claims whose sessions are not known to be guests of this database. */
export const withoutGuests = (guests: Guests, claims: Claim[]): Claim[] =>
  claims.filter(({ session }) => session !== undefined && !guests.has(session));

/** Makes the sessions of these claims guests. Where that cannot be, the claims lease no more. */
export async function enterGuests(guests: Guests, claims: Claim[]): Promise<void> {
  await Promise.all(
    claims.map(async (claim) => {
      const entered = await guests.enter(claim.session as string);
      if (entered === 'guest') return;
      if (entered === 'unknown') claim.unsure = sessionsAway();
      wantOnly(claim, 'ended');
    }),
  );
}
