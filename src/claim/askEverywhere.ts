import { isOutage, unavailable } from '../errors.ts';
import type { ClaimName } from './claim.ts';
import { type ClaimPlaces, placeOf } from './claimPlaces.ts';
import { type Found, findLeases, takenOf } from './claimRows.ts';
import type { DatabaseClaims } from './databaseClaims.ts';

/*
 * A claim with a claim_id whose queues are in several databases has a row in each of them, and leases in each as the row
 * there allows. So that there is one set of leases over all of them, a request asks in all of them before it leases
 * anywhere. See docs/decisions/0089-claims-over-several-databases.md.
 */

/** The databases of these queues. All requests of a claim name them in the same order. */
export async function databasesOf(
  places: ClaimPlaces<DatabaseClaims>,
  queues: string[],
): Promise<DatabaseClaims[]> {
  const { known, find } = places;
  // If `home` is away, a queue without a known place is taken to be there.
  const look = (queue: string) => known(queue) ?? find?.(queue).catch(() => undefined);
  const found = await Promise.all(
    queues.toSorted().map(async (queue) => (await look(queue)) ?? placeOf(places, queue)),
  );
  return [...new Set(found)];
}

/** What a request finds in one of the databases. */
type Here = Found & { database: DatabaseClaims };

/** What a request finds in all databases of its claim. */
export interface FoundEverywhere {
  found: Here[];
  /** Another request looks at the queues at this moment. Ask again. */
  looks: boolean;
}

const isLeased = ({ rows }: Found) => rows.length > 0;

/** Asks in these databases. Those that do not answer are left out. */
async function askIn(
  databases: DatabaseClaims[],
  name: ClaimName,
  how: { takes: boolean; waits: boolean; hurries?: boolean },
): Promise<Here[]> {
  const asked = await Promise.all(
    databases.map(async (database) => {
      try {
        return [{ ...(await findLeases(database.db, name, how)), database }];
      } catch (error) {
        if (!isOutage(error)) throw error;
        return [];
      }
    }),
  );
  return asked.flat();
}

/**
 * Asks for the leases of a claim in all of its databases, as `findLeases` does in one. The first database decides who
 * goes on. With leases anywhere, nobody may add to them: the request becomes the holder where there are none.
 * @throws Refusal `unavailable` if a database is away where an earlier request may have leased
 */
export async function askEverywhere(
  databases: DatabaseClaims[],
  name: ClaimName,
  { takes, waits }: { takes: boolean; waits: boolean },
  isThere = (database: DatabaseClaims) => !database.isAway(),
): Promise<FoundEverywhere> {
  const [decides, ...beside] = databases.filter(isThere);
  if (!decides) throw unavailable();
  // While a database is away, the request takes nothing from others. Its rows are its own only if it is the first.
  const mayTake = takes && beside.length + 1 === databases.length;
  const [first] = await askIn([decides], name, { takes: mayTake, waits });
  if (!first)
    return askEverywhere(databases, name, { takes, waits }, (one) => one !== decides && isThere(one));
  const isLookedAt = first.looks && !isLeased(first);
  const hurries = mayTake && !isLookedAt;
  const found = [first, ...(await askIn(beside, name, { takes: hurries, waits, hurries }))];
  if (found.some(isLeased)) return { found: await closeSet(found, name), looks: false };
  if (isLookedAt || (!mayTake && found.some(({ looks }) => looks))) return { found, looks: true };
  if (found.length < databases.length && found.some(({ isTaken }) => isTaken))
    throw unavailable('A database is away where jobs may be leased to this claim_id. Try again later.');
  // Another request may have taken the claim while this one asked in the other databases.
  const taken = takes && (await takenOf(first.database.db, [name]));
  return { found, looks: taken ? taken.size > 0 : false };
}

/** There are leases. Where there are none, no other request may lease any more. */
async function closeSet(found: Here[], name: ClaimName): Promise<Here[]> {
  const empty = found.filter((here) => !isLeased(here)).map(({ database }) => database);
  const closed = await askIn(empty, name, { takes: true, waits: false, hurries: true });
  if (closed.length < empty.length) throw unavailable();
  return [...found.filter(isLeased), ...closed];
}
