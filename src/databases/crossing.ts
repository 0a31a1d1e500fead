import { isOutage, unavailable } from '../errors.ts';
import type { Crossing } from '../relay/relay.ts';
import { awayOf, isAway, type Members } from './members.ts';
import { beingRelocated, type Place, type Placements } from './placements.ts';

const forgotten = (queueId: number) =>
  unavailable(
    `The database "home" has forgotten the queue with the number ${queueId}. See dibs doctor, and docs/operating.md.`,
  );

/** What the database `self` knows of the others, for jobs that go to queues there. */
export function crossingOf(self: string, members: Members, placements: Placements): Crossing {
  /** What goes to a queue that leaves this database waits in the relay, as for one that lives elsewhere. */
  const ifElsewhere = (place: Place | undefined) =>
    place && (place.database !== self || place.moving_to !== null)
      ? { database: place.moving_to ?? place.database, queueId: place.queue_id }
      : undefined;

  const elsewhere = (queue: string) => ifElsewhere(placements.known(queue));

  /**
   * Looks in home whether these queues are still where they were: another replica may have deleted one, and what is sent to its
   * number goes with it. Undefined: none of them is known to live elsewhere. While home is away, no queue is deleted.
   */
  function confirm(queues: string[]): Promise<unknown> | undefined {
    const far = queues.filter(elsewhere);
    if (far.length === 0) return undefined;
    return Promise.all(far.map(placements.findNow)).catch((error) => {
      if (!isOutage(error)) throw error;
    });
  }

  return {
    self,
    place(queues) {
      const placed = () => placements.place(queues, () => awayOf(members));
      const confirmed = confirm(queues);
      return confirmed ? confirmed.then(placed) : placed();
    },
    elsewhere,
    async findElsewhere(queue) {
      await confirm([queue]);
      return ifElsewhere(await placements.find(queue));
    },
    async databaseOf(queueId, looksAgain) {
      const place = await placements.ofQueue(queueId, looksAgain);
      if (place && place.moving_to !== null) throw beingRelocated(place);
      // What is on its way to a queue that home has forgotten waits. What goes to a deleted one goes with it.
      if (!place && !(await placements.isDeleted(queueId))) throw forgotten(queueId);
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
