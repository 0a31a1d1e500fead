import { HOME } from '../config/databases.ts';
import type { DatabaseEngine } from '../engine/open.ts';
import { type Place, type Placements, unknownDatabase } from './placements.ts';

/** The engines of this replica, by the names of their databases. Home is the first. */
export type Members = Map<string, DatabaseEngine>;

export const isAway = ({ base }: DatabaseEngine): boolean => !base.db.serves();

export const awayOf = (members: Members): string[] =>
  [...members.values()].filter(isAway).map(({ name }) => name);

/** The engine of the database where a queue lives. @throws Refusal `unavailable` where this replica lacks it */
export function engineAt(members: Members, place: Place): DatabaseEngine {
  const engine = members.get(place.database);
  if (!engine) throw unknownDatabase(place);
  return engine;
}

/** The engines of the databases of these queues, as far as they are known. */
export const enginesOf = (queues: string[], members: Members, placements: Placements): Set<DatabaseEngine> =>
  new Set(queues.flatMap((queue) => members.get(placements.known(queue)?.database ?? HOME) ?? []));
