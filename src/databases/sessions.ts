import { setTimeout as sleep } from 'node:timers/promises';
import { type ClaimRequest, queuesOf } from '../claim/claim.ts';
import type { ClaimSessions } from '../claim/claims.ts';
import { HOME } from '../config/databases.ts';
import type { DatabaseEngine, SessionsElsewhere } from '../engine/open.ts';
import { isOutage, sessionNotFound, sessionsAway } from '../errors.ts';
import { planned, row } from '../postgres/statements.ts';
import type { Guests } from '../sessions/guests.ts';
import { enginesOf, isAway, type Members } from './members.ts';
import type { Placements } from './placements.ts';

/*
 * Sessions are in home, and are guests in the other databases where their leases are. See
 * docs/decisions/0106-sessions-in-several-databases.md.
 */

const known = planned('sessions/known', row<{ id: string }>());

/** Nobody waits for longer for a database that hangs. Soon it is known to be away, and is not asked. */
const LONGEST_MS = 2000;

/** What a database answers. Undefined: it is away, or too slow. */
async function answerSoon<T>(asked: Promise<T>): Promise<T | undefined> {
  const waited = new AbortController();
  const over = sleep(LONGEST_MS, undefined, { signal: waited.signal }).catch(() => undefined);
  try {
    return await Promise.race([asked, over]);
  } catch (error) {
    if (isOutage(error)) return undefined;
    throw error;
  } finally {
    waited.abort();
  }
}

const homeOf = (members: Members) => members.get(HOME) as DatabaseEngine;

interface Visited {
  name: string;
  guests: Guests;
}

/** Of these databases, those beside home that are not away, with their guests. */
const visitedOf = (engines: Iterable<DatabaseEngine>): Visited[] =>
  [...engines].flatMap((engine) => {
    const { guests } = engine.rooms;
    return guests && !isAway(engine) ? { name: engine.name, guests } : [];
  });

/** What the engine of a database knows of the sessions of the others. */
export function sessionsElsewhere(name: string, members: Members): SessionsElsewhere {
  if (name !== HOME)
    return {
      atHome: {
        serves: () => !isAway(homeOf(members)),
        async known(sessions) {
          const { db } = homeOf(members).base;
          if (!db.serves()) return undefined;
          const rows = await answerSoon(db.query(known, { sessions }));
          return rows && new Set(rows.map(({ id }) => id));
        },
      },
    };
  return {
    /** One that is away looks for the sessions of its guests when it is back. */
    async endGuests(sessions) {
      const ends = visitedOf(members.values()).map(({ guests }) =>
        // What is wrong with the database, its own duties tell.
        answerSoon(guests.end(sessions)).catch(() => undefined),
      );
      const untold = new Set((await Promise.all(ends)).flatMap((left) => left ?? sessions));
      return sessions.filter((session) => !untold.has(session));
    },
  };
}

/** The sessions that claims name, over all databases. */
export function sessionsOfSeveral(members: Members, placements: Placements): ClaimSessions {
  const databaseOf = (queue: string) => placements.known(queue)?.database ?? HOME;

  async function enterInto(
    visited: Visited[],
    request: ClaimRequest,
    session: string,
  ): Promise<ClaimRequest> {
    const out = new Set<string>();
    await Promise.all(
      visited.map(async ({ name, guests }) => {
        // Where the database itself fails, the claim finds it out when it looks there.
        const entered = await answerSoon(guests.enter(session));
        if (entered === 'ended') throw sessionNotFound(session);
        if (entered === 'unknown') out.add(name);
      }),
    );
    if (out.size === 0) return request;
    const queues = queuesOf(request).filter((queue) => !out.has(databaseOf(queue)));
    // With other queues, a claim_id would name another claim.
    if (queues.length === 0 || request.claim_id !== undefined) throw sessionsAway();
    return { ...request, queues };
  }

  return {
    check(session, owner, isSure = false) {
      const home = homeOf(members);
      if (!isSure) return home.rooms.sessions.check(session, owner);
      // It was there before. While home is away, no session ends.
      if (isAway(home)) return undefined;
      const checked = home.rooms.sessions.check(session, owner, true);
      return checked && answerSoon(checked);
    },

    enter(request, session) {
      const isStrange = ({ guests }: Visited) => !guests.has(session);
      const queues = queuesOf(request);
      const strange = () => visitedOf(enginesOf(queues, members, placements)).filter(isStrange);
      const unplaced = queues.filter((queue) => !placements.known(queue));
      if (unplaced.length > 0 && visitedOf(members.values()).some(isStrange))
        return answerSoon(Promise.all(unplaced.map(placements.find))).then(() =>
          enterInto(strange(), request, session),
        );
      const now = strange();
      return now.length === 0 ? undefined : enterInto(now, request, session);
    },
  };
}
