import { HOME } from '../config/databases.ts';
import { type Connected, type Databases, dbOf, withClients } from '../databases/clients.ts';
import { listed, withNumber } from '../databases/named.ts';
import { checkIdentity, type Registry, readRegistry } from '../databases/registry.ts';
import { StartError } from '../errors.ts';
import { rowsOf } from '../postgres/client.ts';
import { planned, row } from '../postgres/statements.ts';
import { MOST_WAITING, sumOf, waitingJobs } from '../relay/backlog.ts';
import { FAR_ABOVE, type Finding, lasting, ok, problem, warning } from './finding.ts';

/*
 * What several databases are together: whether they are those of one Dibs, each queue is in its place, and jobs from one to
 * another arrive.
 */

export interface Found extends Finding {
  /** Where there are several databases: which one it is about. */
  database?: string;
}

interface Placed {
  queue_id: number;
  name: string;
  database: string;
}

const statements = {
  settings: planned('doctor/settings'),
  placements: planned('transfer/placements', row<Placed>()),
  queuesElsewhere: planned('doctor/queues_elsewhere', row<{ id: number; name: string }>()),
  queuesMissing: planned('doctor/queues_missing', row<{ count: number }>()),
  relayedQueues: planned('doctor/relayed_queues', row<{ id: number; name: string }>()),
  forgottenQueues: planned('doctor/forgotten_queues', row<{ id: number; name: string }>()),
  relocating: planned('doctor/relocating', row<{ relocation: string; id: number; name: string }>()),
  openRelocations: planned('doctor/open_relocations', row<{ id: string }>()),
};

/** Jobs arrive within a second, where their database is there. */
const LATE_SECONDS = 60;

type All = [Connected, ...Connected[]];

const stranger = (found: string) =>
  problem(
    'identity',
    found,
    'No replica starts with these URLs, and jobs may be looked for where they are not.',
    'Give every replica, and this command, the same URLs: DATABASE_URL, and DATABASE_URL_<NAME> for each further database.',
  );

/** The error of a start, as a finding. */
async function asFinding<T>(look: () => Promise<T>): Promise<T | Finding> {
  try {
    return await look();
  } catch (error) {
    if (error instanceof StartError) return stranger(error.message);
    throw error;
  }
}

async function checkOther(registry: Registry, { name, at }: Connected): Promise<Finding> {
  const found = await asFinding(() => at((client) => checkIdentity(registry, name, dbOf(client))));
  if ('level' in found) return found;
  if (registry.known.has(name)) return ok('identity', `This is the database "${name}" of this Dibs.`);
  return warning(
    'identity',
    'No replica has used this database yet.',
    'It has no queues, and gets none.',
    `Start the replicas with it, one after the other (docs/scaling.md).`,
  );
}

const majorOf = async ({ at }: Connected): Promise<number> => {
  const [version] = await at((client) =>
    rowsOf(client, statements.settings, { names: ['server_version_num'] }),
  );
  return Math.floor(Number(version?.setting) / 10_000);
};

/** Whether all databases have one major version of PostgreSQL. */
async function checkVersions([home, ...others]: All): Promise<Found[]> {
  const here = await majorOf(home);
  const found: Found[] = [];
  for (const one of others) {
    const major = await majorOf(one);
    if (major === here) continue;
    found.push({
      database: one.name,
      ...warning(
        'same_version',
        `PostgreSQL ${major}, and home has ${here}.`,
        'It works. But plans differ, and so does what a queue costs in one and in the other.',
        'Upgrade the older one when you can.',
      ),
    });
  }
  return found.length > 0
    ? found
    : [{ database: HOME, ...ok('same_version', `All databases have PostgreSQL ${here}.`) }];
}

/** What is wrong with the place of a queue. */
type Misplaced = 'elsewhere' | 'nowhere' | 'barred' | 'left';

/** The queues that have their place in a database. */
async function placedIn(one: Connected, home: Connected) {
  const places = await home.at((client) => rowsOf(client, statements.placements));
  const here = places.filter(({ database }) => database === one.name);
  return {
    places,
    ids: here.map(({ queue_id }) => queue_id),
    names: here.map(({ name }) => name),
  };
}

/** The queues that relocations have noted in a database, and that none takes further. */
async function leftIn(one: Connected, home: Connected) {
  const noted = await one.at((client) => rowsOf(client, statements.relocating));
  if (noted.length === 0) return [];
  const open = await home.at((client) => rowsOf(client, statements.openRelocations));
  const ids = new Set(open.map(({ id }) => id));
  return noted.filter(({ relocation }) => !ids.has(relocation));
}

/**
 * The queues of a database that are not in their place, and why. Home is asked last: it knows places before queues are made.
 * `barred`: another queue has the number or the name. `left`: by a relocation that home does not know.
 */
async function misplacedIn(one: Connected, home: Connected): Promise<Map<string, Misplaced>> {
  const { places, ids, names } = await placedIn(one, home);
  const queues = await one.at((client) => rowsOf(client, statements.queuesElsewhere, { ids, names }));
  const byId = new Map(places.map((place) => [place.queue_id, place]));
  const taken = new Set(places.map(({ name }) => name));
  const whyOf = ({ id, name }: { id: number; name: string }): Misplaced => {
    if (byId.get(id)?.name === name) return 'elsewhere';
    return byId.has(id) || taken.has(name) ? 'barred' : 'nowhere';
  };
  const found = new Map(queues.map((queue) => [withNumber(queue), whyOf(queue)]));
  for (const queue of await leftIn(one, home)) found.set(withNumber(queue), 'left');
  return found;
}

const FINDINGS: Record<Misplaced, (queues: string) => Finding> = {
  elsewhere: (queues) =>
    warning(
      'places',
      `Queues are here, and their place is another database: ${queues}.`,
      'They move, or a move of them was broken off. No request reaches the jobs that they have here.',
      'Wait until their moves have ended (dibs operations). If none runs, look at both databases before you delete the rows here.',
    ),
  nowhere: (queues) =>
    problem(
      'places',
      `Queues are here that have no place: ${queues}.`,
      'No request reaches their jobs. Home has lost its last commits, or was restored.',
      'Start a replica, or restart one: home learns from it which queues this database has (docs/operating.md#failover).',
    ),
  barred: (queues) =>
    problem(
      'places',
      `Queues are here, and home gives their numbers or their names to other queues: ${queues}.`,
      'No request reaches their jobs. Home has lost their places, and others took them meanwhile.',
      'Where only the name is taken: rename the queue here (update dibs.queues set name), and restart a replica. Where the number is: enqueue its jobs anew, and delete them and the queue here (docs/operating.md#failover).',
    ),
  left: (queues) =>
    problem(
      'places',
      `Relocations were broken off here that home does not know: ${queues}.`,
      'No request reaches the jobs that such a queue still has here. Home has lost its last commits, or was restored.',
      'Restart a replica: it goes on with them. Where another queue has got the number or the name of such a queue, it says so in the log (docs/operating.md#home-that-has-lost-its-last-commits).',
    ),
};

/** Whether the queues of a database are in their place. */
async function checkPlaces(one: Connected, home: Connected): Promise<Finding[]> {
  let misplaced = await misplacedIn(one, home);
  // A queue that is created, or deleted, at this moment is in its place at the next one.
  if (misplaced.size > 0) {
    const again = await misplacedIn(one, home);
    misplaced = new Map([...again].filter(([queue]) => misplaced.has(queue)));
  }
  const findings: Finding[] = [];
  for (const why of ['elsewhere', 'nowhere', 'barred', 'left'] as const) {
    const queues = [...misplaced].filter(([, found]) => found === why).map(([queue]) => queue);
    if (queues.length > 0) findings.push(FINDINGS[why](listed(queues)));
  }
  if (findings.length > 0) return findings;
  const { ids, names } = await placedIn(one, home);
  const [missing] = await one.at((client) => rowsOf(client, statements.queuesMissing, { ids, names }));
  const notYet = missing?.count
    ? ` ${missing.count} more have their place here, and are not created yet.`
    : '';
  return [ok('places', `${ids.length - (missing?.count ?? 0)} queues are here, each in its place.${notYet}`)];
}

/** The queues for which jobs wait in a database, and that home has forgotten. */
async function forgottenBy(home: Connected, { at }: Connected): Promise<string[]> {
  const queues = await at((client) => rowsOf(client, statements.relayedQueues));
  const ids = queues.map(({ id }) => id);
  const names = queues.map(({ name }) => name);
  const forgotten = await home.at((client) => rowsOf(client, statements.forgottenQueues, { ids, names }));
  return forgotten.map(withNumber);
}

/** Whether jobs for other databases arrive there. */
async function checkRelay(one: Connected, home: Connected): Promise<Finding> {
  const { at } = one;
  const forgotten = await forgottenBy(home, one);
  if (forgotten.length > 0)
    return problem(
      'relay',
      `Jobs wait here for queues that home has forgotten: ${listed(forgotten)}.`,
      'Home has lost its last commits, or was restored. The jobs are kept, and are not sent.',
      'Restart a replica: home learns which queues the other databases have. Queues that none of them has get their places by hand (docs/operating.md#home-that-has-lost-its-last-commits).',
    );
  const [waiting] = await at((client) => rowsOf(client, waitingJobs, { most: MOST_WAITING }));
  const seconds = waiting?.oldest_seconds ?? 0;
  const found = `${sumOf(waiting?.counts)} jobs wait here to arrive in other databases`;
  if (seconds <= LATE_SECONDS) return ok('relay', `${found}.`);
  return (seconds > FAR_ABOVE * LATE_SECONDS ? problem : warning)(
    'relay',
    `${found}, the oldest for ${lasting(seconds)}.`,
    'Workers get them when they have arrived. They are not lost.',
    'See which database is away (dibs databases), and whether replicas run. The log says why they were not sent.',
  );
}

/**
 * Looks at databases that this Dibs can serve from, together. `given`: the names of all beside home that have URLs.
 * @throws StartError for an outage
 */
export const examineTogether = (databases: Databases, given: string[]): Promise<Found[]> =>
  withClients(databases, 'dibs doctor', async (all) => {
    const [home, ...others] = all;
    const registry = await asFinding(() => home.at((client) => readRegistry(dbOf(client), given)));
    if ('level' in registry) return [{ database: HOME, ...registry }];
    if (given.length === 0) return [];
    const found: Found[] = [];
    const belong: Connected[] = [home];
    for (const one of others) {
      const finding = await checkOther(registry, one);
      found.push({ database: one.name, ...finding });
      if (finding.level === 'ok') belong.push(one);
    }
    found.push(...(await checkVersions(all)));
    for (const one of belong) {
      for (const finding of await checkPlaces(one, home)) found.push({ database: one.name, ...finding });
      found.push({ database: one.name, ...(await checkRelay(one, home)) });
    }
    return found;
  });
