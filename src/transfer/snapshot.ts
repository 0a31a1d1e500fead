import type pg from 'pg';
import { type Connected, dbOf } from '../databases/clients.ts';
import { checkIdentity, readRegistry } from '../databases/registry.ts';
import { StartError } from '../errors.ts';
import { rowsOf } from '../postgres/client.ts';
import { isLockTimeout } from '../postgres/errorClasses.ts';
import { schemaState } from '../postgres/migrate.ts';
import { latest } from '../postgres/migrations.ts';
import { setSession } from '../postgres/session.ts';
import { planned, row } from '../postgres/statements.ts';
import { version } from '../version.ts';
import type { Header } from './format.ts';

const statements = {
  applied: planned('postgres/migrations_applied'),
  limit: planned('postgres/time_limit'),
  holdArrivals: planned('transfer/hold_arrivals'),
  header: planned('transfer/header'),
  placements: planned('transfer/placements', row<Placement>()),
  queuesThere: planned('transfer/queues_there', row<{ id: number; name: string }>()),
};

export interface Placement {
  queue_id: number;
  name: string;
  database: string;
}

type All = [Connected, ...Connected[]];

/** The databases at one moment. */
export interface Snapshot {
  header: Header;
  /** Those that have queues or may have some, home first. */
  all: All;
  /** Where queues live, by their numbers. Empty: there is one database. */
  placements: Map<number, Placement>;
}

async function checkSchema({ name, at }: Connected, isAlone: boolean): Promise<void> {
  const [applied] = await at(async (client) => {
    const { has_migrations } = await schemaState(client);
    return has_migrations ? rowsOf(client, statements.applied) : [];
  });
  if (applied?.version === latest) return;
  const which = isAlone ? 'The database' : `The database "${name}"`;
  throw new StartError(
    `${which} is at migration ${applied?.version ?? 0}, and this Dibs knows ${latest}. Use the Dibs that serves it.`,
  );
}

/** Those that belong to this Dibs. One that no replica has used yet has nothing. @throws StartError */
async function checkDatabases([home, ...others]: All): Promise<All> {
  for (const one of [home, ...others]) await checkSchema(one, others.length === 0);
  const names = others.map(({ name }) => name);
  const registry = await home.at((client) => readRegistry(dbOf(client), names));
  for (const { name, at } of others) await at((client) => checkIdentity(registry, name, dbOf(client)));
  return [home, ...others.filter(({ name }) => registry.known.has(name))];
}

/** While a slow reader reads, the transaction is open and idle. The server must not end it for that. */
const BEGIN =
  'begin isolation level repeatable read read only; set local idle_in_transaction_session_timeout = 0';
const HOLD = "savepoint held; set local lock_timeout = '2s'";
const LET_GO = 'rollback to savepoint held';

/** The first statement of a transaction fixes what it sees. */
async function fix(client: pg.Client): Promise<Header> {
  const [first] = await rowsOf(client, statements.header, { version });
  return JSON.parse(first?.line ?? '') as Header;
}

async function hold({ name, at }: Connected): Promise<void> {
  await at(async (client) => {
    await client.query(HOLD);
    await rowsOf(client, statements.holdArrivals).catch((error) => {
      if (!isLockTimeout(error)) throw error;
      throw new StartError(
        `Jobs from other databases arrive in "${name}", or a queue moves there. Try again when that has ended.`,
      );
    });
  });
}

/**
 * Begins a transaction in each database, so that all of them see the same moment as far as jobs go from one to another: none
 * arrives while the first statements run. Home comes last: it knows the places of all queues that the others have.
 */
async function fixAll(all: All): Promise<Header> {
  const [home, ...others] = all;
  for (const { at } of all) await at((client) => client.query(BEGIN));
  if (others.length > 0) for (const one of all) await hold(one);
  const headers: Header[] = [];
  for (const { at } of [...others, home]) headers.push(await at(fix));
  if (others.length > 0) for (const { at } of all) await at((client) => client.query(LET_GO));
  for (const { at } of all)
    await at(async (client) => {
      await setSession(client);
      await rowsOf(client, statements.limit, { statement_timeout: '0', lock_timeout: null });
    });
  return {
    ...(headers.at(-1) as Header),
    positions: Math.max(...headers.map(({ positions }) => positions)),
    jobs: headers.reduce((sum, { jobs }) => sum + jobs, 0),
  };
}

/** @throws StartError for a queue in a database that is not its place: it moves, and is whole in one of them only */
async function checkPlaces(all: All, placements: Placement[]): Promise<void> {
  for (const { name, at } of all) {
    const ids = placements.filter(({ database }) => database !== name).map(({ queue_id }) => queue_id);
    const [between] = await at((client) => rowsOf(client, statements.queuesThere, { ids }));
    if (between)
      throw new StartError(
        `The queue ${between.name} is in the database "${name}", and its place is another one. Export when its move has ended.`,
      );
  }
}

/**
 * Takes a snapshot of all databases. The transactions stay open: autovacuum waits for them.
 * @throws StartError for a database that is not one of this Dibs, and where a queue moves
 */
export async function takeSnapshot(connected: All): Promise<Snapshot> {
  const all = await checkDatabases(connected);
  const header = await fixAll(all);
  if (all.length === 1) return { header, all, placements: new Map() };
  const places = await all[0].at((client) => rowsOf(client, statements.placements));
  await checkPlaces(all, places);
  return { header, all, placements: new Map(places.map((place) => [place.queue_id, place])) };
}

/** The connection to a database of the snapshot. */
export const databaseOf = ({ all }: Snapshot, { database }: Placement): Connected =>
  all.find(({ name }) => name === database) as Connected;
