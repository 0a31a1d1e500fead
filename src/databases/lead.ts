import { HOME } from '../config/databases.ts';
import type { DatabaseEngine } from '../engine/open.ts';
import { isOutage, Refusal, type RefusalCode, unavailable } from '../errors.ts';
import { isElsewhere } from '../postgres/errorClasses.ts';
import { Misplaced } from '../queues/elsewhere.ts';
import { awayOf, engineAt, type Members } from './members.ts';
import type { Place, Placements } from './placements.ts';
import { variableOf } from './registry.ts';

const WRONG_PLACES: readonly RefusalCode[] = ['queue_not_found', 'job_not_found', 'batch_not_found'];

/** The answers of an engine that no longer has what it is asked for. */
const isWrongPlace = (error: unknown): boolean =>
  error instanceof Misplaced ||
  isElsewhere(error) ||
  (error instanceof Refusal && WRONG_PLACES.includes(error.code));

/** It has moved twice while a request was under way. */
const movesOn = ({ name }: Place) => unavailable(`Queue ${name} is being relocated. Try again later.`);

/** Nobody relocates a queue but replicas that have both databases. */
const toUnknown = ({ name, moving_to }: Place) =>
  unavailable(
    `Queue ${name} is being relocated to the database "${moving_to}", which this replica does not know yet. It has to be restarted with ${variableOf(moving_to as string)}, and so have all others.`,
  );

type Find = () => Place | undefined | Promise<Place | undefined>;

/** Leads requests to the database that they concern. */
export function createLead(members: Members, placements: Placements) {
  const home = members.get(HOME) as DatabaseEngine;
  /** Home says that there is no such queue. */
  const engineOf = (place: Place | undefined): DatabaseEngine => (place ? engineAt(members, place) : home);

  /** Where the queue is, when it does not move any more. */
  async function settled(place: Place | undefined): Promise<Place | undefined> {
    if (!place || place.moving_to === null) return place;
    const isUnknown = !members.has(place.moving_to);
    return placements.settled(place).catch((error) => {
      throw isUnknown && isOutage(error) ? toUnknown(place) : error;
    });
  }

  /** Runs it where the place leads. If that was wrong, looks again, and runs it at the new place. */
  async function follow<T>(find: Find, run: (engine: DatabaseEngine) => Promise<T>): Promise<T> {
    const found = find();
    const known = found instanceof Promise ? await found : found;
    const place = known?.moving_to ? await settled(known) : known;
    const engine = engineOf(place);
    try {
      return await run(engine);
    } catch (error) {
      if (!place || !isWrongPlace(error)) throw error;
      placements.forget(place.name);
      const again = await find();
      const now = await settled(again);
      const isSame = now?.database === place.database && error instanceof Refusal && !isElsewhere(error);
      if (!now || (isSame && again?.moving_to === null)) throw error;
      return run(engineOf(now)).catch((error) => {
        throw error instanceof Misplaced ? movesOn(now) : error;
      });
    }
  }

  return {
    home,

    /** To the queue, if there is one. */
    toQueue: <T>(name: string, run: (engine: DatabaseEngine) => Promise<T>): Promise<T> =>
      follow(() => placements.find(name), run),

    /** To the first of these queues. All of them have a place then. `wish`: where a new one is to be. */
    toNew<T>(names: string[], run: (engine: DatabaseEngine) => Promise<T>, wish?: string): Promise<T> {
      const first = () => placements.known(names[0] as string);
      return follow(() => {
        const placed = placements.place(names, () => awayOf(members), wish);
        return placed ? placed.then(first) : first();
      }, run);
    },

    /** To the queue of a job. @throws Refusal `job_not_found` */
    toJob: <T>(id: string, run: (engine: DatabaseEngine) => Promise<T>): Promise<T> =>
      follow(() => placements.ofJob(id), run),
  };
}

export type Lead = ReturnType<typeof createLead>;
