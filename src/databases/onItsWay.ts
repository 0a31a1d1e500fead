import { isOutage, Refusal } from '../errors.ts';
import { isUuid, queueIdOf } from '../ids.ts';
import type { Job } from '../job.ts';
import type { Relay } from '../relay/relay.ts';
import { isAway, type Members } from './members.ts';
import type { Placements } from './placements.ts';

/** A job that has not arrived yet in its database, and the relay that has it. */
interface OnItsWay {
  job: Job;
  relay: Relay;
}

export const isNotFound = (error: unknown) => error instanceof Refusal && error.code === 'job_not_found';

/** Finds jobs in the relays of all databases that are there. */
export function createOnItsWay(members: Members, placements: Placements) {
  const relays = () =>
    [...members.values()].flatMap((engine) => (isAway(engine) ? [] : (engine.rooms.relay ?? [])));

  /**
   * Asks all relays about a job. Returns the answer of the one that has it.
   * @throws what one answered that could not tell, where none has it
   */
  async function ask<T>(
    id: string,
    askOne: (relay: Relay) => Promise<T | undefined>,
  ): Promise<T | undefined> {
    if (!isUuid(id)) return undefined;
    const asked = await Promise.allSettled(relays().map(askOne));
    for (const one of asked) if (one.status === 'fulfilled' && one.value !== undefined) return one.value;
    for (const one of asked) if (one.status === 'rejected') throw one.reason;
    return undefined;
  }

  const find = (id: string): Promise<OnItsWay | undefined> =>
    ask(id, async (relay) => {
      const job = await relay.find(id);
      return job && { job, relay };
    });

  /** Has what waits for these queues sent first: it was decided before. For a short time, and as far as this replica knows. */
  async function sendFirst(queues: string[], database: string): Promise<void> {
    const places = queues.map(placements.known).filter((place) => place?.database === database);
    const sent = relays().flatMap((relay) => places.map((place) => place && relay.sendFirst(place.queue_id)));
    await Promise.all(sent);
  }

  return {
    find,

    sendFirst,

    /** Looks by `look`. If that does not find the job, it may be on its way. */
    async lookOrFind<T>(id: string, look: () => Promise<T>): Promise<{ found: T } | OnItsWay> {
      try {
        return { found: await look() };
      } catch (error) {
        if (!isNotFound(error) && !isOutage(error)) throw error;
        const onItsWay = await find(id);
        if (onItsWay) return onItsWay;
        if (!isNotFound(error) || !isUuid(id)) throw error;
        // It may have arrived between the two looks.
        return { found: await look() };
      }
    },

    /** Cancels the job where it waits. Undefined: it may have arrived. */
    remove: (id: string): Promise<Job | undefined> => ask(id, (relay) => relay.remove(id)),

    /** Where it goes, in words. */
    async whither(id: string): Promise<string> {
      const place = await placements.ofQueue(queueIdOf(id) as number);
      if (!place) return 'its database';
      const engine = members.get(place.database);
      const isThere = engine && !isAway(engine);
      return `the database ${JSON.stringify(place.database)}${isThere ? '' : ', which is away'}`;
    },
  };
}

export type WayOfJobs = ReturnType<typeof createOnItsWay>;
