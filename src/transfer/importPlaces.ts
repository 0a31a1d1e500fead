import type { Connected } from '../databases/clients.ts';
import { StartError } from '../errors.ts';
import { rowsOf } from '../postgres/client.ts';
import { planned, row } from '../postgres/statements.ts';
import type { QueueLine } from './format.ts';
import type { Placement } from './snapshot.ts';

/*
 * Where the queues of an export go, when there are several databases. Queues that share batches which have not ended go into
 * one: docs/decisions/0108-batches-in-an-export.md.
 */

const statements = {
  placements: planned('transfer/placements', row<Placement>()),
  place: planned('transfer/place', row<Placement>()),
  number: planned('transfer/number_places'),
  placeBeside: planned('transfer/place_beside', row<Placement>()),
};

type All = [Connected, ...Connected[]];

const namesOf = (queues: QueueLine[]) => queues.map(({ name }) => name);
const idsOf = (queues: QueueLine[]) => queues.map(({ id }) => id);

/** Queues in groups: those of a group share batches, with each other or by way of others. Most are alone. */
function groupsOf(queues: QueueLine[]): QueueLine[][] {
  const groupOf = new Map(queues.map((queue) => [queue.id, [queue]]));
  for (const { id, together = [] } of queues)
    for (const other of together) {
      const [group, its] = [groupOf.get(id), groupOf.get(other)];
      if (!group || !its || group === its) continue;
      for (const queue of its) {
        group.push(queue);
        groupOf.set(queue.id, group);
      }
    }
  return [...new Set(groupOf.values())];
}

async function placesNow([home]: All): Promise<Map<string, string>> {
  const found = await home.at((client) => rowsOf(client, statements.placements));
  return new Map(found.map(({ name, database }) => [name, database]));
}

/** Refuses queues that share batches, and live in several databases already. @throws StartError */
export async function checkTogether(all: All, queues: QueueLine[]): Promise<void> {
  const places = await placesNow(all);
  for (const group of groupsOf(queues)) {
    const placed = group.filter(({ name }) => places.has(name));
    const [first] = placed;
    const other = placed.find(({ name }) => places.get(name) !== places.get(first?.name as string));
    if (!first || !other) continue;
    const told = [first, other].map(({ name }) => `${name} (in ${places.get(name)})`).join(' and ');
    throw new StartError(
      `The queues ${told} have jobs of batches that have not ended, so they have to be in one database. Relocate one of them.`,
    );
  }
}

/** Gives queues their places among several databases. Those that have one keep it. Without `numbers`, new ones get new ones. */
export const placeNew = (
  [home]: All,
  names: string[],
  numbers: number[] | null = null,
): Promise<Placement[]> => home.at((client) => rowsOf(client, statements.place, { numbers, names }));

/** Gives queues their places. Those of a group go where the first of them that has a place is. */
export async function placeTogether(all: All, queues: QueueLine[], newIds: boolean): Promise<Placement[]> {
  const [home] = all;
  const places = await placesNow(all);
  const groups = groupsOf(queues).map((group) =>
    group.toSorted((a, b) => Number(places.has(b.name)) - Number(places.has(a.name)) || a.id - b.id),
  );
  const firsts = groups.map(([first]) => first as QueueLine);
  const placed = await placeNew(all, namesOf(firsts), newIds ? null : idsOf(firsts));
  const databaseOf = new Map(placed.map(({ name, database }) => [name, database]));
  for (const [first, ...beside] of groups) {
    if (beside.length === 0) continue;
    const names = namesOf(beside);
    const wish = databaseOf.get(first?.name as string) as string;
    if (!newIds)
      await home.at((client) => rowsOf(client, statements.number, { numbers: idsOf(beside), names }));
    placed.push(...(await home.at((client) => rowsOf(client, statements.placeBeside, { names, wish }))));
  }
  return placed;
}
