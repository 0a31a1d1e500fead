import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { HOME } from '../config/databases.ts';
import type { DatabaseEngine } from '../engine/open.ts';
import { isOutage, unavailable } from '../errors.ts';
import { rowsOf } from '../postgres/client.ts';
import type { Database, Db } from '../postgres/pool.ts';
import { planned, row } from '../postgres/statements.ts';
import { isAway, type Members } from './members.ts';
import { listed, withNumber } from './named.ts';
import type { Lessons, Place } from './placements.ts';
import { reopenForgotten } from './relocation/reopen.ts';

/*
 * Home may forget places: a standby that lacks the last commits is promoted, or a backup is restored. The other databases still
 * have the queues. Home learns them again: docs/decisions/0112-home-learns-places-again.md.
 */

/** So many queues of a database are compared with their places by one statement. */
const PAGE = 2000;
/** A database that could not tell what it has is asked again after so long, when a request needs to know. */
const AGAIN_MS = 5000;
/** A request waits so long until home has learned. It is refused before a protocol's own limit. */
const WAIT_MS = 3000;

/** A queue of a database. */
interface Found {
  id: number;
  name: string;
}
/** Its place is not there. `placed`: the place of this queue, if it has one. */
interface Unplaced extends Found {
  placed: string | null;
}

const statements = {
  server: planned('databases/server', row<Server>()),
  queuesAfter: planned('databases/queues_after', row<Found>()),
  there: planned('databases/there', row<Found>()),
  holdQueues: planned('databases/hold_queues', row<Found>()),
  unplaced: planned('databases/unplaced', row<Unplaced>()),
  adopt: planned('databases/adopt'),
  colliding: planned('databases/colliding', row<Found>()),
  holdAlone: planned('databases/hold_alone', row<Place>()),
  remove: planned('databases/remove'),
  leadBack: planned('databases/lead_back'),
  record: planned('relocation/record'),
};

const asked = (queues: Found[]) => ({
  ids: queues.map(({ id }) => id),
  names: queues.map(({ name }) => name),
});

type Server = { server: string };
const serverIn = ([found]: Server[]): string => (found as Server).server;

/** Other queues have the numbers or the names of queues. */
class Barred extends Error {}

/** How home learns again what the other databases have. */
export interface Learning extends Lessons {
  /** Settles when nothing is being learned. */
  idle(): Promise<void>;
  /** Whether home answers, as far as is known. */
  canLearn(): boolean;
  /**
   * A new connection to home. It is used when home has learned from where it goes to: until then, home may have queues that live
   * elsewhere by now. @throws Refusal `unavailable` when that takes too long
   */
  admit(client: pg.Client): Promise<void>;
  /**
   * A queue could not be created: others of its database have its number or its name, which home has forgotten. They get their
   * places, and it loses its own. False: that does not help, and nothing was changed.
   */
  makeWay(place: Place): Promise<boolean>;
  /** Notifications of this database may have been lost: it may be another server than before. Settles when home has learned. */
  heard(name: string): Promise<void>;
}

/** A queue has its place in one database, and is in another: home has forgotten that it was relocated. */
async function leadBack(home: Db, members: Members, queue: Unplaced, database: string): Promise<void> {
  const { id: queue_id, name, placed } = queue;
  const there = placed === HOME ? home : members.get(placed as string)?.base.db;
  if (!there) return;
  // Nobody creates it there until this transaction ends, and no relocation begins.
  await home.query(statements.holdAlone, { name });
  const found = await there.query(statements.there, asked([queue]));
  const records = await there.query(statements.record, { queue_id });
  if (found.length + records.length === 0)
    await home.query(statements.leadBack, { queue_id, name, placed, database });
}

/** The queue loses its place, which is still this one. */
async function giveUp(home: Db, { queue_id, name, database }: Place): Promise<void> {
  const [held] = await home.query(statements.holdAlone, { name });
  if (held?.queue_id === queue_id && held.database === database && held.moving_to === null)
    await home.query(statements.remove, { queue_id });
}

/**
 * Gives queues of a database their places, as far as they are there now. Returns those whose place is not there all the same.
 * `instead`: a queue that loses its place to them, if all get theirs. @throws Barred if not
 */
function adopt(
  home: Database,
  members: Members,
  { name: database, base }: DatabaseEngine,
  queues: Found[],
  instead?: Place,
): Promise<Unplaced[]> {
  return base.db.transaction(async (there) => {
    // A queue that is deleted, or leaves, at this moment is not adopted.
    const held = asked(await there.query(statements.holdQueues, asked(queues)));
    return home.transaction(async (transaction) => {
      if (instead) await giveUp(transaction, instead);
      await transaction.query(statements.adopt, { ...held, database });
      const left = await transaction.query(statements.unplaced, { ...held, database });
      if (instead && left.length > 0) throw new Barred();
      const astray = left.filter(({ placed }) => placed !== null);
      for (const queue of astray) await leadBack(transaction, members, queue, database);
      return astray.length > 0 ? transaction.query(statements.unplaced, { ...held, database }) : left;
    });
  });
}

/** Gives all queues of a database their places that have none. Returns those whose numbers or names have other places. */
async function adoptAll(home: Database, members: Members, engine: DatabaseEngine): Promise<Unplaced[]> {
  const left: Unplaced[] = [];
  for (let after = 0, count = PAGE; count === PAGE; ) {
    const page = await engine.base.db.query(statements.queuesAfter, { after, limit: PAGE });
    count = page.length;
    after = page.at(-1)?.id ?? after;
    if (count === 0) break;
    const unplaced = await home.query(statements.unplaced, { ...asked(page), database: engine.name });
    if (unplaced.length > 0) left.push(...(await adopt(home, members, engine, unplaced)));
  }
  return left;
}

const barred = (queues: Unplaced[], database: string) =>
  new Error(
    `Queues of the database "${database}" have no place, because others have their numbers or names: ${listed(queues.map(withNumber))}. See dibs doctor`,
  );

const leftBehind = (queues: string[], database: string) =>
  new Error(
    `Queues that were being relocated have rows in the database "${database}", and others have their numbers or names: ${listed(queues)}. See dibs doctor`,
  );

/** A request waits for what home learns, which goes on without it. @throws Refusal `unavailable` when that takes too long */
async function soon(lesson: Promise<void>): Promise<void> {
  const learned = new AbortController();
  const late = sleep(WAIT_MS, undefined, { signal: learned.signal }).then(() => {
    throw unavailable('The database "home" is learning which queues the others have. Try again later.');
  });
  await Promise.race([lesson, late]).finally(() => learned.abort());
}

/** How home learns again what the other databases have. It does so when something hints at a loss, and never else. */
export function createLearning(options: {
  home: Database;
  /** Connections to home that wait for nothing that is to be learned. */
  learner: Database;
  members: Members;
  log(error: unknown, message: string): void;
}): Learning {
  const { home, learner, members, log } = options;
  let learnedAt = '';
  /** The databases that have not told what they have, and when they were asked. */
  const untold = new Map<string, number>();
  let underWay: Promise<void> | undefined;

  async function from(name: string): Promise<void> {
    const engine = members.get(name);
    if (!engine || name === HOME) return;
    untold.set(name, performance.now());
    if (isAway(engine)) return;
    try {
      const behind = await reopenForgotten(learner, engine);
      if (behind.length > 0) log(leftBehind(behind, name), 'a relocation cannot go on');
      const left = await adoptAll(learner, members, engine);
      if (left.length > 0) log(barred(left, name), 'queues were found that no request reaches');
      untold.delete(name);
    } catch (error) {
      if (!isOutage(error)) log(error, `home has not learned which queues the database "${name}" has`);
    }
  }

  const serverAt = async (db: Database) => serverIn(await db.query(statements.server));

  async function learn(): Promise<void> {
    const server = await serverAt(learner);
    for (const name of members.keys()) await from(name);
    // Home may have gone meanwhile. Then it has to learn again.
    if ((await serverAt(learner)) !== server) throw unavailable();
    learnedAt = server;
  }

  function learnOnce(): Promise<void> {
    underWay ??= learn().finally(() => {
      underWay = undefined;
    });
    return underWay;
  }

  return {
    learnedAt: () => learnedAt,
    idle: async () => underWay?.catch(() => undefined),
    canLearn: home.serves,
    async admit(client) {
      const server = serverIn(await rowsOf(client, statements.server));
      if (server !== learnedAt) await soon(learnOnce());
      if (server !== learnedAt) throw unavailable();
    },
    fromAll: () => soon(learnOnce()),
    async current() {
      if ((await serverAt(home)) !== learnedAt) await soon(learnOnce());
      for (const [name, askedAt] of untold)
        if (performance.now() - askedAt > AGAIN_MS && !isAway(members.get(name) as DatabaseEngine))
          await soon(from(name));
      return [...untold.keys()];
    },
    async makeWay(place) {
      const engine = members.get(place.database);
      if (!engine || engine.name === HOME) return false;
      const { queue_id, name } = place;
      const others = await engine.base.db.query(statements.colliding, { queue_id, name });
      return adopt(home, members, engine, others, place).then(
        () => true,
        (error) => {
          if (error instanceof Barred) return false;
          throw error;
        },
      );
    },
    async heard(name) {
      try {
        if (name === HOME) await learnOnce();
        else if (untold.has(name)) await from(name);
      } catch (error) {
        // The next request that needs a new place learns.
        learnedAt = '';
        if (!isOutage(error)) log(error, 'home has not learned which queues the other databases have');
      }
    },
  };
}
