import type { Connected } from '../databases/clients.ts';
import { rowsOf } from '../postgres/client.ts';
import { planned, row } from '../postgres/statements.ts';
import type { QueueLine } from './format.ts';
import { databaseOf, type Placement, type Snapshot } from './snapshot.ts';

/*
 * Jobs that wait in one database for a queue in another: docs/decisions/0090-relay.md. An export has those that have not
 * arrived at its moment, as lines of their own. An import has them arrive.
 */

const statements = {
  queues: planned('relay/queues', row<{ queue_id: number }>()),
  parcels: planned('transfer/relay_parcels', row<Parcel>()),
  arrived: planned('transfer/relay_arrived', row<{ queue_id: number; number: number }>()),
  queuesThere: planned('transfer/queues_there', row<{ id: number; name: string }>()),
  lines: planned('transfer/export_relay', row<{ place: number; line: string }>()),
};

interface Parcel {
  queue_id: number;
  number: number;
  places: number[];
}

const QUEUES = 1000;
const MOST = 500;
const MOST_BYTES = 2 ** 20;

/** The jobs that wait in a database for a queue. */
export interface Waiting {
  from: Connected;
  to: Placement;
  /** The places of those that have arrived already. */
  arrived: number[];
}

async function queuesFrom({ at }: Connected): Promise<number[]> {
  const found: number[] = [];
  for (;;) {
    const after = found.at(-1) ?? 0;
    const page = await at((client) => rowsOf(client, statements.queues, { after, limit: QUEUES }));
    found.push(...page.map(({ queue_id }) => queue_id));
    if (page.length < QUEUES) return found;
  }
}

/** The jobs of parcels that have arrived, and wait no more, by their queues. */
async function arrivedFrom(
  snapshot: Snapshot,
  { name: source, at }: Connected,
): Promise<Map<number, number[]>> {
  const parcels = await at((client) => rowsOf(client, statements.parcels));
  const arrived = new Map<number, number[]>();
  for (const { name, at } of snapshot.all) {
    const there = parcels.filter(({ queue_id }) => snapshot.placements.get(queue_id)?.database === name);
    if (there.length === 0) continue;
    const queue_ids = there.map(({ queue_id }) => queue_id);
    const found = await at((client) => rowsOf(client, statements.arrived, { source, queue_ids }));
    const last = new Map(found.map(({ queue_id, number }) => [queue_id, number]));
    for (const { queue_id, number, places } of there)
      if ((last.get(queue_id) ?? 0) >= number) arrived.set(queue_id, places);
  }
  return arrived;
}

/** What waits in all databases. What waits for a queue that is gone goes with it. */
export async function findWaiting(snapshot: Snapshot): Promise<Waiting[]> {
  const waiting: Waiting[] = [];
  if (snapshot.all.length === 1) return waiting;
  for (const from of snapshot.all) {
    const arrived = await arrivedFrom(snapshot, from);
    for (const id of await queuesFrom(from)) {
      const to = snapshot.placements.get(id);
      if (to) waiting.push({ from, to, arrived: arrived.get(id) ?? [] });
    }
  }
  return waiting;
}

/** The queues for which jobs wait, and that nobody has created yet: each has its place, and all else as a new queue has it. */
export async function newQueues(snapshot: Snapshot, waiting: Waiting[]): Promise<QueueLine[]> {
  const lines = new Map<number, QueueLine>();
  for (const { to } of waiting) {
    const { queue_id: id, name } = to;
    const ids = [id];
    const there = await databaseOf(snapshot, to).at((client) =>
      rowsOf(client, statements.queuesThere, { ids }),
    );
    if (there.length === 0) lines.set(id, { kind: 'queue', id, name, paused: false });
  }
  return [...lines.values()];
}

/** The lines of the jobs that wait, in their order. */
export async function* linesOf({ from, to, arrived }: Waiting): AsyncGenerator<string> {
  const { queue_id } = to;
  for (let after = 0; ; ) {
    const asked = { queue_id, after, arrived, most: MOST, most_bytes: MOST_BYTES };
    const page = await from.at((client) => rowsOf(client, statements.lines, asked));
    for (const { line } of page) yield line;
    if (page.length === 0) return;
    after = page.at(-1)?.place as number;
  }
}
