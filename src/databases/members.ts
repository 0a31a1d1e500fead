import type { DatabaseEngine } from '../engine/open.ts';
import { unavailable } from '../errors.ts';
import { type Place, unknownDatabase } from './placements.ts';

/** A database of this replica. */
export interface Member {
  engine: DatabaseEngine;
  /** It was seen to be the one that it should be, and its duties run. */
  isOpen: boolean;
}

/** The databases of this replica, by their names. Home is the first. */
export type Members = Map<string, Member>;

export const isAway = ({ engine, isOpen }: Member): boolean => !isOpen || !engine.base.db.serves();

export const awayOf = (members: Members): string[] =>
  [...members].filter(([, member]) => isAway(member)).map(([name]) => name);

/** The engine of the database where a queue lives. @throws Refusal `unavailable` */
export function engineAt(members: Members, place: Place): DatabaseEngine {
  const member = members.get(place.database);
  if (!member) throw unknownDatabase(place);
  if (!member.isOpen) throw unavailable(`The database "${place.database}" does not answer. Try again later.`);
  return member.engine;
}
