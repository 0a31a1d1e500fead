import { HOME } from '../config/databases.ts';
import { StartError } from '../errors.ts';
import type { Database, Db } from '../postgres/pool.ts';
import { planned, row } from '../postgres/statements.ts';
import type { Accepting } from './mergedDatabases.ts';

/*
 * Which databases belong to a Dibs. Each database has an id of its own, in dibs.this_database. One that was taken knows its
 * name and the id of its home. Home knows the name and the id of each, in dibs.databases.
 */

interface Identity {
  id: string;
  name: string | null;
  home: string | null;
  is_used: boolean;
}

const statements = {
  identity: planned('databases/identity', row<Identity>()),
  known: planned('databases/known', row<{ name: string; id: string; accepts_queues: boolean }>()),
  take: planned('databases/take'),
  lockQueues: planned('databases/lock_queues'),
  register: planned('databases/register'),
  placeOwn: planned('databases/place_own'),
  count: planned('databases/count'),
  accept: planned('databases/accept'),
};

export const variableOf = (name: string) =>
  name === HOME ? 'DATABASE_URL' : `DATABASE_URL_${name.toUpperCase()}`;

const identityOf = async (db: Db): Promise<Identity> => {
  const [found] = await db.query(statements.identity);
  return found as Identity;
};

const knownIn = async (home: Db): Promise<Registry['known']> =>
  new Map((await home.query(statements.known)).map((row) => [row.name, row.id]));

/** What home knows. */
export interface Registry {
  homeId: string;
  /** The id of each database, by its name. Empty: home is the only one. */
  known: Map<string, string>;
}

/**
 * What home knows of its databases. `given`: the names of those that this replica has besides home. Left out: it does
 * not matter.
 * @throws StartError for a home that belongs to another Dibs, and where this replica lacks a database
 */
export async function readRegistry(home: Db, given?: string[]): Promise<Registry> {
  const { id, name } = await identityOf(home);
  if (name !== null && name !== HOME)
    throw new StartError(
      `DATABASE_URL leads to the database "${name}" of a Dibs with several. Give the URL of its home.`,
    );
  const known = await knownIn(home);
  const missing = [...known.keys()].filter((name) => given && name !== HOME && !given.includes(name));
  if (missing.length > 0)
    throw new StartError(
      `This Dibs has the database "${missing[0]}", and ${variableOf(missing[0] as string)} is not set. Every replica needs it.`,
    );
  return { homeId: id, known };
}

/**
 * What this database is, if it may be the database `name` of the Dibs of this home. A `name` of null: it is new.
 * @throws StartError when it is another one
 */
export async function checkIdentity({ homeId, known }: Registry, name: string, db: Db): Promise<Identity> {
  const variable = variableOf(name);
  const identity = await identityOf(db);
  if (identity.id === homeId)
    throw new StartError(`${variable} and ${variableOf(HOME)} lead to the same database.`);
  const other = [...known].find(([other, id]) => other !== name && id === identity.id)?.[0];
  if (other !== undefined)
    throw new StartError(
      `${variable} leads to the database "${other}" of this Dibs, and ${variableOf(other)} is for that one.`,
    );
  const before = known.get(name);
  if (before !== undefined && before !== identity.id)
    throw new StartError(`${variable} leads to another database than before.`);
  if (identity.home !== null && identity.home !== homeId)
    throw new StartError(`${variable} leads to a database of another Dibs.`);
  if (identity.name !== null && identity.name !== name)
    throw new StartError(`${variable} leads to the database "${identity.name}" of this Dibs.`);
  if (identity.name === null && identity.is_used)
    throw new StartError(
      `${variable} leads to the database of another Dibs: it has queues or access keys. Give an empty one.`,
    );
  return identity;
}

/** A new database becomes `name` of this Dibs. @throws StartError where another one was faster, or it is another one */
async function take(registry: Registry, name: string, db: Db): Promise<string> {
  const { id, name: before } = await checkIdentity(registry, name, db);
  if (before !== null) return id;
  await db.query(statements.take, { name, home: registry.homeId });
  return (await checkIdentity(registry, name, db)).id;
}

/**
 * Home knows a database from now on. When it is the first one, the queues of home get their places. Replicas that start at once
 * come one after the other, and each looks again: what it has read may be of before.
 */
async function addToHome(home: Database, registry: Registry, name: string, db: Db): Promise<void> {
  await home.transaction(async (transaction) => {
    await transaction.query(statements.lockQueues);
    registry.known = await knownIn(transaction);
    const id = await take(registry, name, db);
    await transaction.query(statements.take, { name: HOME, home: registry.homeId });
    await transaction.query(statements.register, { name: HOME, id: registry.homeId });
    await transaction.query(statements.placeOwn);
    await transaction.query(statements.count);
    await transaction.query(statements.register, { name, id });
    registry.known.set(name, id);
  });
}

/**
 * Makes sure that this is the database `name` of the Dibs of this home. A new one becomes it.
 * @throws StartError when it is another one
 */
export async function checkIn(home: Database, registry: Registry, name: string, db: Database): Promise<void> {
  await checkIdentity(registry, name, db);
  if (registry.known.has(name)) await take(registry, name, db);
  else await addToHome(home, registry, name, db);
}

/** Which databases take new queues. */
export const acceptingIn = (home: Database): Accepting => ({
  async find() {
    const rows = await home.query(statements.known);
    return new Set(rows.filter((row) => row.accepts_queues).map(({ name }) => name));
  },
  async set(name, accepts_queues) {
    await home.query(statements.accept, { name, accepts_queues });
  },
});
