import type { DatabaseEngine } from '../engine/open.ts';
import { type Place, unknownDatabase } from './placements.ts';

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
