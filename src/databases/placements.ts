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

/** What a replica has learned of the places that home may have forgotten: src/databases/learning.ts. */
export interface Lessons {
  /** The server for which home has learned, as sql/databases/server.sql tells it. Empty: none yet. */
  learnedAt(): string;
  /** Home learns from all databases. One that does not answer does so later. @throws Refusal `unavailable` when home is away */
  fromAll(): Promise<void>;
  /** Home learns if it is another server than before. Returns the databases that have not told what they have. */
  current(): Promise<string[]>;
}

/** So many places are remembered. Others are looked up. */
const MOST_KNOWN = 100_000;
/** Calls for a queue that goes to another database wait for so long. They are refused before a protocol's own limit. */
const HOLD_MS = 4500;
/** They look again after this time where no notification comes. */
const LOOK_MS = 250;
/** One statement looks up this number of places. */
const MOST_TOGETHER = 1000;
/** Home learns so often for one request, if it is another server each time. */
const MOST_LESSONS = 3;

const statements = {
  byNames: prepared('databases/by_names', row<Place>()),
  byIds: prepared('databases/by_ids', row<Place>()),
  place: planned('databases/place', row<Place>()),
  hold: planned('databases/hold', row<Place>()),
  holdAlone: planned('databases/hold_alone', row<Place>()),
  remove: planned('databases/remove'),
  count: planned('databases/count'),
  deleted: planned('databases/deleted', row<{ queue_id: number }>()),
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

/** What needs to know all places. Home may have to learn first what the other databases have. */
function createLearned(home: Database, lessons: Lessons, known: ReturnType<typeof createKnownPlaces>) {
  /** Gives places, once home knows what the other databases have. */
  async function placeAll(asked: { names: string[]; wish: string | null; away: string[] }): Promise<void> {
    for (let learned = 0; learned <= MOST_LESSONS; learned++) {
      const learned_at = lessons.learnedAt();
      const placed = await orTooManyQueues(
        home.query(statements.place, { ...asked, learned_at }, { queue: asked.names[0] }),
      );
      if (placed.length > 0) return known.remember(placed);
      await lessons.fromAll();
    }
    throw unavailable('The database "home" was restarted or restored. Try again later.');
  }

  /** The place of the queue with this number, once home knows what the other databases have. */
  async function findLearned(queueId: number): Promise<{ place?: Place | undefined; untold: string[] }> {
    const untold = await lessons.current();
    return { place: await known.findById(queueId), untold };
  }

  /**
   * The place of the queue with this number. `looksAgain`: what is known was wrong. Undefined when it has none.
   * @throws Refusal `unavailable` while a database may have it that home has not learned from
   */
  async function ofQueue(queueId: number, looksAgain = false): Promise<Place | undefined> {
    const before = known.byId.get(queueId);
    if (before?.moving_to === null && !looksAgain) return before;
    const found = await known.findById(queueId);
    if (found) return found;
    known.byId.delete(queueId);
    if (before && known.byName.get(before.name)?.queue_id === queueId) known.byName.delete(before.name);
    const { place, untold } = await findLearned(queueId);
    if (!place && untold.length > 0)
      throw unavailable(
        `The database "${untold[0]}" may have the queue, and does not answer. Try again later.`,
      );
    return place;
  }

  return { placeAll, findLearned, ofQueue };
}

/**
 * In which database each queue lives: dibs.placements in home, as far as this replica has looked. What it knows stays until
 * `forget` or `changed`, so it serves on while home is away. @throws Refusal `unavailable` where home would have to be asked, and is away
 */
export function createPlacements(home: Database, lessons: Lessons, amongOthers: AmongOthers) {
  const known = createKnownPlaces(home, amongOthers);
  const { byName, byId, remember, findByName, forget, forgetAll } = known;

  /** The place of a queue as it is now, whatever is known of it. */
  async function findNow(name: string): Promise<Place | undefined> {
    const place = await findByName(name);
    if (!place) forget(name);
    return place;
  }
  const settling = createSettling(findNow);

  const { placeAll, findLearned, ofQueue } = createLearned(home, lessons, known);

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
        known.findWithoutHome(queueId).then(async (found) => {
          const place = found ?? (await findLearned(queueId)).place;
          if (!place) throw jobNotFound(id);
          return place;
        })
      );
    },

    ofQueue,

    /** Whether the queue with this number was deleted. One that has no place, and was not, is forgotten. */
    isDeleted: async (queueId: number): Promise<boolean> =>
      (await home.query(statements.deleted, { queue_id: queueId })).length > 0,

    /**
     * Gives those of these queues a place that have none: in the database `wish`, if it is given, else by the rule of
     * sql/functions/place.sql. Afterwards, all are known. Undefined: they are now.
     */
    place(names: string[], away: () => string[], wish?: string): Promise<void> | undefined {
      const missing = names.filter((name) => !byName.get(name));
      if (missing.length === 0) return undefined;
      return placeAll({ names: missing.toSorted(), wish: wish ?? null, away: away() });
    },

    /**
     * Runs `create` while these queues stay in this database: nobody moves them, or takes their places away. It is given
     * their numbers, and the transaction in home. @throws Misplaced for a queue that lives elsewhere
     */
    async creating<T>(
      database: string,
      names: string[],
      create: (places: Place[], atHome: Db) => Promise<T>,
    ): Promise<T> {
      return home.transaction(async (transaction) => {
        const places = await transaction.query(statements.hold, { names });
        for (const name of names) byName.delete(name);
        remember(places);
        const here = places.filter((place) => place.database === database && place.moving_to === null);
        if (here.length < new Set(names).size) throw new Misplaced();
        return create(here, transaction);
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
