import type { Crossing } from '../relay/relay.ts';
import { awayOf, isAway, type Members } from './members.ts';
import type { Place, Placements } from './placements.ts';

/** What the database `self` knows of the others, for jobs that go to queues there. */
export function crossingOf(self: string, members: Members, placements: Placements): Crossing {
  const ifElsewhere = (place: Place | undefined) =>
    place && place.database !== self ? { database: place.database, queueId: place.queue_id } : undefined;

  return {
    self,
    place: (queues) => placements.place(queues, () => awayOf(members)),
    elsewhere: (queue) => ifElsewhere(placements.known(queue)),
    findElsewhere: async (queue) => ifElsewhere(await placements.find(queue)),
    databaseOf: async (queueId, looksAgain) => (await placements.ofQueue(queueId, looksAgain))?.database,
    at(database) {
      const engine = members.get(database);
      return engine && { serves: () => !isAway(engine), receive: engine.rooms.receive };
    },
  };
}
