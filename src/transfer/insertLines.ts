import type pg from 'pg';
import { rowsOf } from '../postgres/client.ts';
import { planned } from '../postgres/statements.ts';
import type { Kind } from './format.ts';

const statements = {
  queues: planned('transfer/import_queues'),
  queueIds: planned('transfer/queue_ids'),
  jobs: planned('transfer/import_jobs'),
  windows: planned('transfer/import_windows'),
  schedules: planned('transfer/import_schedules'),
  keys: planned('transfer/import_keys'),
  keysChange: planned('access/change'),
};

/** A line of a file, and its number there. */
export interface Numbered {
  number: number;
  text: string;
}

/** The database into which lines go. */
export interface Target {
  newIds: boolean;
  /** What is added to the positions of the export. */
  before: number;
  /** The ids of queues in the export, and here. */
  ids: Map<number, number>;
}

const mapped = ({ ids }: Target) => ({ from_ids: [...ids.keys()], to_ids: [...ids.values()] });

/** Learns the ids that queues have in this database. */
export async function learnIds(client: pg.Client, lines: Numbered[], { ids }: Target): Promise<void> {
  const queues = lines.map(({ text }) => JSON.parse(text) as { id: number; name: string });
  const found = await rowsOf(client, statements.queueIds, { names: queues.map(({ name }) => name) });
  const idOf = new Map(found.map(({ name, id }) => [name, id]));
  for (const { id, name } of queues) ids.set(id, idOf.get(name) as number);
}

/** Puts in lines of one kind, inside a transaction. Returns how many were put in: the others were there already. */
export async function insertLines(
  client: pg.Client,
  kind: Kind,
  numbered: Numbered[],
  target: Target,
): Promise<number> {
  // The lines go as they are. PostgreSQL reads them, and nothing is written anew on the way.
  const lines = `[${numbered.map(({ text }) => text).join()}]`;
  switch (kind) {
    case 'queue':
      await rowsOf(client, statements.queues, { lines, new_ids: target.newIds });
      await learnIds(client, numbered, target);
      return numbered.length;
    case 'job':
      await rowsOf(client, statements.jobs, { lines, before: target.before, ...mapped(target) });
      return numbered.length;
    case 'window':
      return (await rowsOf(client, statements.windows, { lines, ...mapped(target) })).length;
    case 'schedule':
      return (await rowsOf(client, statements.schedules, { lines })).length;
    case 'key': {
      const put = await rowsOf(client, statements.keys, { lines });
      await rowsOf(client, statements.keysChange, { creates: true });
      return put.length;
    }
  }
}
