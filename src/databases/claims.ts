import { type Claims, createClaims } from '../claim/claims.ts';
import type { DatabaseClaims } from '../claim/databaseClaims.ts';
import type { Ledger } from '../ledger.ts';
import type { ClaimRequest, LeasedJob } from '../verbs/claims.ts';
import { engineAt, type Members } from './members.ts';
import type { Placements } from './placements.ts';

/** The claims of this replica over all of its databases. Each database is added before anything is claimed. */
export function claimsOfSeveral(context: {
  placements: Placements;
  ledger: Ledger;
  log(error: unknown, message: string): void;
}) {
  const { placements } = context;
  const byName = new Map<string, DatabaseClaims>();
  const known = (queue: string) => byName.get(placements.known(queue)?.database ?? '');
  const claims = createClaims({
    ...context,
    places: { all: () => [...byName.values()] as [DatabaseClaims, ...DatabaseClaims[]], known },
  });
  /** The queue may be new. Its place is looked up before claims that wait for it look there. */
  function wake(queue: string, trip?: number): void {
    if (known(queue)) claims.wake(queue, trip);
    else
      placements.find(queue).then(
        () => claims.wake(queue),
        () => undefined,
      );
  }
  const woken: Claims = { ...claims, wake };
  return {
    /** A database takes part, with its own part of the claims. */
    add(name: string, own: DatabaseClaims): Claims {
      byName.set(name, own);
      return woken;
    },
    claim: claims.claim,
  };
}

const enginesOf = (queues: Iterable<string>, members: Members, placements: Placements) =>
  new Set(
    [...queues].flatMap((queue) => {
      const place = placements.known(queue);
      return place ? [engineAt(members, place)] : [];
    }),
  );

/** The verb `claim` over all databases, with what concerns each of them around it. */
export const claimVerb =
  (claim: Claims['claim'], members: Members, placements: Placements) =>
  async (request: ClaimRequest): Promise<LeasedJob[]> => {
    const { queues = ['default'] } = request;
    // Home may be away. What is known goes on, and a queue that is not known has nothing that could be claimed.
    const unknown = queues.filter((queue) => !placements.known(queue));
    if (unknown.length > 0) await Promise.all(unknown.map(placements.find));
    for (const { base } of enginesOf(queues, members, placements)) await base.rest.asked(false);
    const jobs = await claim(request);
    for (const { base } of enginesOf(
      jobs.map(({ queue }) => queue),
      members,
      placements,
    )) {
      base.throttle.served();
      base.rest.active();
    }
    return jobs;
  };
