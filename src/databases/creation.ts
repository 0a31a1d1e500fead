import { HOME } from '../config/databases.ts';
import { unavailable } from '../errors.ts';
import type { Database, Db } from '../postgres/pool.ts';
import { planned, row } from '../postgres/statements.ts';
import type { NumberedCreation } from '../queues/creation.ts';
import { Misplaced } from '../queues/elsewhere.ts';
import type { Learning } from './learning.ts';
import type { Place, Placements } from './placements.ts';

const statements = {
  create: planned('queues/create_numbered', row<{ id: number; name: string }>()),
  there: planned('databases/there', row<{ id: number; name: string }>()),
  record: planned('relocation/record'),
};

/** Queues that have the number or the name of a new one get their places, and it gets another one. It is tried so often. */
const MOST_TRIES = 3;

const asked = (places: Place[]) => ({
  ids: places.map(({ queue_id }) => queue_id),
  names: places.map(({ name }) => name),
});

const cannotCreate = ({ name, database }: Place) =>
  unavailable(
    `Queue ${name} cannot be created: another queue of the database "${database}" has its number or its name. See dibs doctor.`,
  );

/**
 * Creates queues with the numbers of their places. Returns those whose number or name another queue has. @throws Misplaced for one that
 * is being relocated from here, which home has forgotten
 */
async function create(db: Db, places: Place[]): Promise<Place[]> {
  const notMade = await db.query(statements.create, asked(places));
  if (notMade.length === 0) return [];
  const there = new Set((await db.query(statements.there, asked(places))).map(({ name }) => name));
  const barred = places.filter(({ name }) => !there.has(name));
  for (const { queue_id } of barred) {
    const [note] = await db.query(statements.record, { queue_id });
    if (note && note.role !== 'refused') throw new Misplaced();
  }
  return barred;
}

/**
 * Creates queues of a database, with the numbers of their places. Those of home in the transaction that holds the
 * places: with another connection of home, many creations at once would wait for each other's connections.
 * @throws Refusal `unavailable` for a queue whose number or name another one has
 */
export function creationIn(options: {
  placements: Placements;
  learning: Learning;
  name: string;
  db: Database;
  log(error: unknown, message: string): void;
}): NumberedCreation {
  const { placements, learning, name: database, db, log } = options;
  const createAll = (places: Place[], atHome: Db) => create(database === HOME ? atHome : db, places);
  async function createWithWay(names: string[]): Promise<void> {
    // Home may have forgotten that one of them is elsewhere.
    await learning.current();
    for (let tries = 1; ; tries++) {
      const barred = await placements.creating(database, names, createAll);
      if (barred.length === 0) return;
      for (const place of barred) {
        placements.forget(place.name);
        if (tries < MOST_TRIES && (await learning.makeWay(place))) continue;
        const refusal = cannotCreate(place);
        log(new Error(refusal.message), 'a queue was not created');
        throw refusal;
      }
      await placements.place(
        barred.map(({ name }) => name),
        () => [],
        database,
      );
    }
  }

  return {
    create: createWithWay,
    isAnother({ id, name }) {
      const place = placements.known(name);
      return place?.database === database && place.queue_id !== id && learning.canLearn();
    },
  };
}
