import type { Crossing } from '../relay/relay.ts';
import { awayOf, isAway, type Members } from './members.ts';
import { beingRelocated, type Place, type Placements } from './placements.ts';

/** What the database `self` knows of the others, for jobs that go to queues there. */
export function crossingOf(self: string, members: Members, placements: Placements): Crossing {
  /** What goes to a queue that leaves this database waits in the relay, as for one that lives elsewhere. */
  const ifElsewhere = (place: Place | undefined) =>
    place && (place.database !== self || place.moving_to !== null)
      ? { database: place.moving_to ?? place.database, queueId: place.queue_id }
      : undefined;

  return {
    self,
    place: (queues) => placements.place(queues, () => awayOf(members)),
    elsewhere: (queue) => ifElsewhere(placements.known(queue)),
    findElsewhere: async (queue) => ifElsewhere(await placements.find(queue)),
    async databaseOf(queueId, looksAgain) {
      const place = await placements.ofQueue(queueId, looksAgain);
      if (place && place.moving_to !== null) throw beingRelocated(place);
      return place?.database;
    },
    at(database) {
      const engine = members.get(database);
      return engine && { serves: () => !isAway(engine), receive: engine.rooms.receive };
    },
    attemptsOf(queueId) {
      const place = placements.knownById(queueId);
      return place && members.get(place.database)?.base.queues.lastKnown(queueId)?.max_attempts;
    },
  };
}
