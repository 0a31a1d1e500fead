import type pg from 'pg';
import type { Connected } from '../databases/clients.ts';
import { StartError } from '../errors.ts';
import { rowsOf } from '../postgres/client.ts';
import { planned, row } from '../postgres/statements.ts';
import type { QueueLine } from './format.ts';
import { checkTogether, placeTogether } from './importPlaces.ts';
import type { Placement } from './snapshot.ts';

const statements = {
  taken: planned('transfer/taken'),
  placed: planned('transfer/placed'),
  reserveIds: planned('transfer/reserve_ids'),
  chooseIds: planned('transfer/choose_ids', row<{ from_id: number; to_id: number }>()),
  queueIds: planned('transfer/queue_ids'),
  pausedSince: planned(
    'transfer/paused_since',
    row<{ queue_id: number; group_concurrency: number; group: string; is_paused: boolean }>(),
  ),
  pauseHead: planned('groups/pause_head', row<{ id: string }>()),
  resumeHead: planned('groups/resume_head'),
  newPositions: planned('queues/positions', row<{ position: number }>()),
  release: planned('transfer/release_queues'),
  notify: planned('replicas/notify'),
};

/** One statement wakes the claims of so many queues. */
const MOST_TOGETHER = 500;

type All = [Connected, ...Connected[]];

/** Where queues of an export go: by their numbers there, the database and the number here. */
export type Destinations = Map<number, { database: string; id: number }>;

const namesOf = (queues: QueueLine[]) => queues.map(({ name }) => name);
const idsOf = (queues: QueueLine[]) => queues.map(({ id }) => id);

interface InTheWay {
  name: string;
  has_jobs: boolean;
}

/** The queues that are in the way in one of the databases, or whose places are. */
async function findInTheWay(all: All, queues: QueueLine[], newIds: boolean): Promise<InTheWay[]> {
  const asked = { ids: idsOf(queues), names: namesOf(queues) };
  const found: InTheWay[] = [];
  for (const { at } of all)
    found.push(
      ...((await at((client) =>
        rowsOf(client, statements.taken, { ...asked, new_ids: newIds }),
      )) as InTheWay[]),
    );
  if (newIds) return found;
  const known = new Set(found.map(({ name }) => name));
  for (const { name } of await all[0].at((client) => rowsOf(client, statements.placed, asked)))
    if (name !== null && !known.has(name)) found.push({ name, has_jobs: false });
  return found;
}

/** Refuses queues that are in the way, before anything is written. @throws StartError */
export async function checkQueues(all: All, queues: QueueLine[], newIds: boolean): Promise<void> {
  const taken = await findInTheWay(all, queues, newIds);
  if (taken.length === 0 && all.length > 1) await checkTogether(all, queues);
  if (taken.length === 0) return;
  const names = taken.slice(0, 5).map(({ name, has_jobs }) => `${name}${has_jobs ? ' (it has jobs)' : ''}`);
  const more = taken.length > 5 ? `, and ${taken.length - 5} more` : '';
  const inFile = new Set(namesOf(queues));
  const advice = taken.some(({ name, has_jobs }) => has_jobs && inFile.has(name))
    ? 'Import into a database where they have no jobs'
    : 'Ids of jobs name their queue. --new-ids gives the jobs new ids; or delete these queues';
  throw new StartError(`Queues of this database are in the way: ${names.join(', ')}${more}. ${advice}.`);
}

/** Keeps the ids of these queues from queues that are created later. */
export async function reserveIds([home]: All, queues: QueueLine[]): Promise<void> {
  const last = queues.reduce((last, { id }) => Math.max(last, id), 0);
  if (last > 0) await home.at((client) => rowsOf(client, statements.reserveIds, { last }));
}

async function placeQueues(all: All, queues: QueueLine[], newIds: boolean): Promise<Destinations> {
  const placed = await placeTogether(all, queues, newIds);
  const placeOf = new Map(placed.map((place) => [place.name, place]));
  return new Map(
    queues.map(({ id, name }) => {
      const { database, queue_id } = placeOf.get(name) as Placement;
      return [id, { database, id: queue_id }];
    }),
  );
}

/** The destinations of queues that an earlier import has put into the only database. @throws StartError */
async function learnIds({ name: database, at }: Connected, queues: QueueLine[]): Promise<Destinations> {
  const found = await at((client) => rowsOf(client, statements.queueIds, { names: namesOf(queues) }));
  const idOf = new Map(found.map(({ name, id }) => [name, id as number]));
  return new Map(
    queues.map(({ id, name }) => {
      const here = idOf.get(name);
      if (here === undefined)
        throw new StartError(`The queue ${name} was deleted after this import had begun. It cannot go on.`);
      return [id, { database, id: here }];
    }),
  );
}

/** The names of those of these queues that are in none of the databases. */
export async function findDeleted(all: All, queues: QueueLine[]): Promise<string[]> {
  const names = namesOf(queues);
  const there = new Set<string | null>();
  for (const { at } of all)
    for (const { name } of await at((client) => rowsOf(client, statements.queueIds, { names })))
      there.add(name);
  return names.filter((name) => !there.has(name));
}

/** Decides where the queues of an export go. `isRepeated`: an earlier import has put them in. */
export async function destinationsOf(
  all: All,
  queues: QueueLine[],
  { newIds, isRepeated }: { newIds: boolean; isRepeated: boolean },
): Promise<Destinations> {
  const [home, ...others] = all;
  if (others.length > 0) return placeQueues(all, queues, newIds);
  if (isRepeated) return learnIds(home, queues);
  const inHome = (from: number, id: number) => [from, { database: home.name, id }] as const;
  if (!newIds) return new Map(queues.map(({ id }) => inHome(id, id)));
  const asked = { ids: idsOf(queues), names: namesOf(queues) };
  const chosen = await home.at((client) => rowsOf(client, statements.chooseIds, asked));
  return new Map(chosen.map(({ from_id, to_id }) => inHome(from_id, to_id)));
}

/**
 * Holds the heads of groups that were paused during the import, and lets those of groups that were resumed go on: some heads came
 * later.
 */
export async function catchUpPauses(client: pg.Client, queues: QueueLine[]): Promise<void> {
  const lines = JSON.stringify(queues.map(({ name, paused_groups }) => ({ name, paused_groups })));
  for (const changed of await rowsOf(client, statements.pausedSince, { lines })) {
    const { queue_id, group, group_concurrency, is_paused } = changed;
    if (is_paused) await rowsOf(client, statements.pauseHead, { queue_id, group });
    else {
      const reserved = await rowsOf(client, statements.newPositions, { count: group_concurrency });
      const positions = reserved.map(({ position }) => position);
      await rowsOf(client, statements.resumeHead, { queue_id, group, positions });
    }
  }
}

/** Ends the pause of the queues, but for those that were paused in the export. Claims look at them again. */
export async function openQueues(client: pg.Client, queues: QueueLine[]): Promise<void> {
  await rowsOf(client, statements.release, {
    names: namesOf(queues),
    paused: queues.map(({ paused }) => paused),
  });
  await wakeClaims(client, namesOf(queues));
}

/** Has the claims of these queues look for jobs. */
export async function wakeClaims(client: pg.Client, names: string[]): Promise<void> {
  for (let at = 0; at < names.length; at += MOST_TOGETHER)
    await rowsOf(client, statements.notify, {
      messages: names.slice(at, at + MOST_TOGETHER).map((name) => `ready sql ${name}`),
    });
}
