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

/** The place of the queue with this number, as the databases tell it that are there. Undefined: none of them has it. */
export async function placeAmong(members: Members, queueId: number): Promise<Place | undefined> {
  const there = [...members.values()].filter((engine) => !isAway(engine));
  const asked = await Promise.allSettled(there.map(({ base }) => base.queues.byId(queueId)));
  for (const [i, one] of asked.entries())
    if (one.status === 'fulfilled' && one.value)
      return {
        queue_id: queueId,
        name: one.value.name,
        database: (there[i] as DatabaseEngine).name,
        moving_to: null,
      };
  return undefined;
}
