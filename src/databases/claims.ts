import { queuesOf } from '../claim/claim.ts';
import { type ClaimSessions, type Claims, createClaims } from '../claim/claims.ts';
import type { DatabaseClaims } from '../claim/databaseClaims.ts';
import type { Ledger } from '../ledger.ts';
import type { ClaimRequest, LeasedJob } from '../verbs/claims.ts';
import { enginesOf, type Members } from './members.ts';
import { type Placements, unknownDatabase } from './placements.ts';

/** The claims of this replica over all of its databases. Each database is added before anything is claimed. */
export function claimsOfSeveral(context: {
  placements: Placements;
  sessions: ClaimSessions;
  ledger: Ledger;
  log(error: unknown, message: string): void;
}) {
  const { placements } = context;
  const byName = new Map<string, DatabaseClaims>();
  const claims = createClaims({
    ...context,
    places: {
      all: () => [...byName.values()] as [DatabaseClaims, ...DatabaseClaims[]],
      known: (queue) => byName.get(placements.known(queue)?.database ?? ''),
      async find(queue) {
        const place = await placements.findNow(queue);
        const own = byName.get(place?.database ?? '');
        if (place && !own) throw unknownDatabase(place);
        return own;
      },
    },
  });
  return {
    /** A database takes part, with its own part of the claims. */
    add(name: string, own: DatabaseClaims): Claims {
      byName.set(name, own);
      return claims;
    },
    claim: claims.claim,
    wake: claims.wake,
  };
}

/**
 * A claim that would not wait does so while all of its queues go to other databases.
 * @throws Refusal `unavailable` when that takes too long
 */
async function whenSettled(request: ClaimRequest, placements: Placements): Promise<void> {
  if (request.wait_seconds) return;
  const places = queuesOf(request).map(placements.known);
  const [first] = places;
  if (first && places.every((place) => place && place.moving_to !== null)) await placements.settled(first);
}

/** The verb `claim` over all databases, with what concerns each of them around it. */
export const claimVerb =
  (claim: Claims['claim'], members: Members, placements: Placements) =>
  async (request: ClaimRequest): Promise<LeasedJob[]> => {
    await whenSettled(request, placements);
    for (const { base } of enginesOf(queuesOf(request), members, placements))
      if (base.db.serves()) await base.rest.asked(false);
    const jobs = await claim(request);
    const served = jobs.map(({ queue }) => queue);
    for (const { base } of enginesOf(served, members, placements)) {
      base.throttle.served();
      base.rest.active();
    }
    return jobs;
  };
