import { EventEmitter } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { LruMap } from 'toad-cache';
import { HOME } from '../config/databases.ts';
import { isOutage, jobNotFound, unavailable } from '../errors.ts';
import { queueIdOf } from '../ids.ts';
import { gathering } from '../postgres/gathering.ts';
import type { Database, Db } from '../postgres/pool.ts';
import { planned, prepared, row } from '../postgres/statements.ts';
import { Misplaced } from '../queues/elsewhere.ts';
import { orTooManyQueues } from '../queues/numbers.ts';

/** Where a queue lives. */
export interface Place {
  queue_id: number;
  name: string;
  database: string;
  /** Set while it goes to that database: calls for it wait. */
  moving_to: string | null;
}

/** So many places are remembered. Others are looked up. */
const MOST_KNOWN = 100_000;
/** Calls for a queue that goes to another database wait for so long. They are refused before a protocol's own limit. */
const HOLD_MS = 4500;
/** They look again after this time where no notification comes. */
const LOOK_MS = 250;
/** One statement looks up this number of places. */
const MOST_TOGETHER = 1000;

const statements = {
  byNames: prepared('databases/by_names', row<Place>()),
  byIds: prepared('databases/by_ids', row<Place>()),
  place: planned('databases/place', row<Place>()),
  hold: planned('databases/hold', row<Place>()),
  holdAlone: planned('databases/hold_alone', row<Place>()),
  remove: planned('databases/remove'),
  count: planned('databases/count'),
};

/** Asks the databases that are there for a queue by its number. */
type AmongOthers = (queueId: number) => Promise<Place | undefined>;

/** The places that this replica knows, and how it looks up others. */
function createKnownPlaces(home: Database, amongOthers: AmongOthers) {
  const byName = new LruMap<Place>(MOST_KNOWN);
  const byId = new LruMap<Place>(MOST_KNOWN);

  function remember(places: Place[]): void {
    for (const place of places) {
      byName.set(place.name, place);
      byId.set(place.queue_id, place);
    }
  }

  /** Finds places, several together. */
  const finding = <Key extends string | number>(
    look: (keys: Key[]) => Promise<Place[]>,
    keyOf: (place: Place) => Key,
  ) =>
    gathering(MOST_TOGETHER, async (keys: Key[]) => {
      const found = await look(keys);
      remember(found);
      const places = new Map(found.map((place) => [keyOf(place), place]));
      return keys.map((key) => places.get(key));
    });

  const findById = finding<number>(
    (ids) => home.query(statements.byIds, { ids }),
    ({ queue_id }) => queue_id,
  );

  return {
    byName,
    byId,
    remember,
    findByName: finding<string>(
      (names) => home.query(statements.byNames, { names }),
      ({ name }) => name,
    ),
    findById,

    /** The same. Where home cannot tell, the database of the queue does, which serves its jobs without home. */
    findWithoutHome: (queueId: number): Promise<Place | undefined> =>
      findById(queueId).catch(async (error) => {
        const place = isOutage(error) ? await amongOthers(queueId) : undefined;
        if (!place) throw error;
        remember([place]);
        return place;
      }),

    /** What is known of a queue may be wrong. */
    forget(name: string): void {
      const place = byName.get(name);
      byName.delete(name);
      if (place) byId.delete(place.queue_id);
    },

    forgetAll(): void {
      byName.clear();
      byId.clear();
    },
  };
}

export const beingRelocated = ({ name, moving_to }: Place) =>
  unavailable(`Queue ${name} is being relocated to the database "${moving_to}". Try again later.`);

/** How calls wait for queues that go to another database. `findNow` looks where a queue is. */
function createSettling(findNow: (name: string) => Promise<Place | undefined>) {
  const looks = new EventEmitter().setMaxListeners(0);

  /** Waits for a change of the place of a queue, or for some time. */
  async function change(name: string, ms: number): Promise<void> {
    const changed = new AbortController();
    const hear = () => changed.abort();
    looks.once(name, hear);
    await sleep(ms, undefined, { signal: changed.signal }).catch(() => undefined);
    looks.off(name, hear);
  }

  return {
    /** Whoever waits for this queue looks again. */
    look: (name: string): unknown => looks.emit(name),

    /**
     * Waits until a queue does not go to another database any more. Returns its place then. Undefined: it is gone.
     * @throws Refusal `unavailable` when that takes too long
     */
    async settled({ name }: Place): Promise<Place | undefined> {
      const until = performance.now() + HOLD_MS;
      for (;;) {
        const place = await findNow(name);
        if (!place || place.moving_to === null) return place;
        const leftMs = until - performance.now();
        if (leftMs <= 0) throw beingRelocated(place);
        await change(name, Math.min(LOOK_MS, leftMs));
      }
    },
  };
}

/**
 * In which database each queue lives: dibs.placements in home, as far as this replica has looked. What it knows stays until
 * `forget` or `changed`, so it serves on while home is away. @throws Refusal `unavailable` where home would have to be asked, and is away
 */
export function createPlacements(home: Database, amongOthers: AmongOthers = async () => undefined) {
  const known = createKnownPlaces(home, amongOthers);
  const { byName, byId, remember, findByName, findById, forget, forgetAll } = known;

  /** The place of a queue as it is now, whatever is known of it. */
  async function findNow(name: string): Promise<Place | undefined> {
    const place = await findByName(name);
    if (!place) forget(name);
    return place;
  }
  const settling = createSettling(findNow);

  return {
    /** The place of a queue, if it is known. */
    known: (name: string): Place | undefined => byName.get(name),
    knownById: (queueId: number): Place | undefined => byId.get(queueId),

    findNow,

    settled: settling.settled,

    /** The place of a queue has changed. Without a name: that of any queue may have. */
    changed(name?: string): void {
      if (name === undefined) forgetAll();
      else {
        forget(name);
        settling.look(name);
      }
    },

    /** The place of a queue. Undefined when it has none. */
    find: async (name: string): Promise<Place | undefined> => byName.get(name) ?? findByName(name),

    /** The place of the queue of a job, at once if it is known. @throws Refusal `job_not_found` */
    ofJob(id: string): Place | Promise<Place> {
      const queueId = queueIdOf(id);
      if (queueId === undefined) throw jobNotFound(id);
      return (
        byId.get(queueId) ??
        known.findWithoutHome(queueId).then((place) => {
          if (!place) throw jobNotFound(id);
          return place;
        })
      );
    },

    /** The place of the queue with this number. `looksAgain`: what is known was wrong. Undefined when it has none. */
    async ofQueue(queueId: number, looksAgain = false): Promise<Place | undefined> {
      const known = byId.get(queueId);
      if (known?.moving_to === null && !looksAgain) return known;
      const found = await findById(queueId);
      if (found || !known) return found;
      byId.delete(queueId);
      if (byName.get(known.name)?.queue_id === queueId) byName.delete(known.name);
    },

    /**
     * Gives those of these queues a place that have none: in the database `wish`, if it is given, else by the rule of
     * sql/functions/place.sql. Afterwards, all are known. Undefined: they are now.
     */
    place(names: string[], away: () => string[], wish?: string): Promise<void> | undefined {
      const missing = names.filter((name) => !byName.get(name));
      if (missing.length === 0) return undefined;
      const asked = { names: missing.toSorted(), wish: wish ?? null, away: away() };
      return orTooManyQueues(home.query(statements.place, asked, { queue: asked.names[0] })).then(remember);
    },

    /**
     * Runs `create` while these queues stay in this database: nobody moves them, or takes their places away. It is given
     * their numbers, and the transaction in home. @throws Misplaced for a queue that lives elsewhere
     */
    async creating(
      database: string,
      names: string[],
      create: (places: Place[], atHome: Db) => Promise<unknown>,
    ) {
      await home.transaction(async (transaction) => {
        const places = await transaction.query(statements.hold, { names });
        for (const name of names) byName.delete(name);
        remember(places);
        const here = places.filter((place) => place.database === database && place.moving_to === null);
        if (here.length < new Set(names).size) throw new Misplaced();
        await create(here, transaction);
      });
    },

    /** A queue was deleted. It loses its place if it is gone indeed: somebody may have created it again. */
    async remove({ name, queue_id }: Place, isGone: () => Promise<boolean>): Promise<void> {
      byName.delete(name);
      await home.transaction(async (transaction) => {
        const [place] = await transaction.query(statements.holdAlone, { name });
        if (place?.queue_id === queue_id && (await isGone()))
          await transaction.query(statements.remove, { queue_id });
        await transaction.query(statements.count);
      });
    },

    forget,
  };
}

export type Placements = ReturnType<typeof createPlacements>;

/** This replica lacks the database of a queue. */
export const unknownDatabase = ({ name, database }: Place) =>
  unavailable(
    `Queue ${name} lives in the database "${database}", which this replica does not know yet. It has to be restarted with ${
      database === HOME ? 'DATABASE_URL' : `DATABASE_URL_${database.toUpperCase()}`
    }.`,
  );
