import type pg from 'pg';
import { StartError } from '../errors.ts';
import { rowsOf } from '../postgres/client.ts';
import { planned, row } from '../postgres/statements.ts';
import type { Kind, QueueLine } from './format.ts';

const statements = {
  lockQueues: planned('transfer/lock_queues'),
  filled: planned('transfer/filled', row<{ name: string }>()),
  queues: planned('transfer/import_queues'),
  newQueues: planned('queues/create_numbered'),
  resumed: planned('transfer/resumed', row<{ name: string }>()),
  jobs: planned('transfer/import_jobs'),
  windows: planned('transfer/import_windows'),
  batches: planned('transfer/import_batches'),
  followers: planned('transfer/import_followers'),
  batchStates: planned('transfer/import_batch_states', row<{ id: string }>()),
  endBatches: planned('batches/end'),
  schedules: planned('transfer/import_schedules'),
  keys: planned('transfer/import_keys'),
  keysChange: planned('access/change'),
};

/** A line of a file, and its number there. */
export interface Numbered {
  number: number;
  text: string;
  /** The number that its queue has in the export, where it belongs to one. */
  queueId?: number;
  /** Whether it is a job of a group. */
  hasGroup?: boolean;
}

/** The database into which lines go. */
export interface Target {
  /** What is added to the positions of the export. */
  before: number;
  /** The numbers of queues in the export, and here. */
  ids: Map<number, number>;
  /** So of the queues in all databases. */
  allIds: Map<number, number>;
}

/** What an import puts in by statements. Jobs that were on their way arrive instead (importRelayed.ts). */
export type Inserted = Exclude<Kind, 'relay'>;

const mapped = ({ ids }: Target) => ({ from_ids: [...ids.keys()], to_ids: [...ids.values()] });

/** The lines go as they are. PostgreSQL reads them, and nothing is written anew on the way. */
export const arrayOf = (numbered: Numbered[]): string => `[${numbered.map(({ text }) => text).join()}]`;

/** Queues with their configuration, and those that nobody has created yet. */
async function insertQueues(client: pg.Client, numbered: Numbered[], target: Target): Promise<void> {
  const queues = numbered.map((line) => ({ line, queue: JSON.parse(line.text) as QueueLine }));
  const ids = [...target.ids.values()];
  await rowsOf(client, statements.lockQueues, { ids });
  const [filled] = await rowsOf(client, statements.filled, { ids });
  if (filled)
    throw new StartError(
      `A job came into the queue ${filled.name} just now. Import into a database where it has no jobs.`,
    );
  const whole = queues.filter(({ queue }) => queue.created_at !== undefined);
  await rowsOf(client, statements.queues, {
    lines: arrayOf(whole.map(({ line }) => line)),
    ...mapped(target),
  });
  const made = queues.flatMap(({ queue }) => (queue.created_at === undefined ? queue : []));
  await rowsOf(client, statements.newQueues, {
    ids: made.map(({ id }) => target.ids.get(id) as number),
    names: made.map(({ name }) => name),
  });
}

/** Refuses jobs of groups that have gone on, because somebody has resumed their queue. @throws StartError */
async function checkGroups(client: pg.Client, numbered: Numbered[], { ids }: Target): Promise<void> {
  const queues = new Set(
    numbered.flatMap(({ hasGroup, queueId }) => (hasGroup ? ids.get(queueId as number) : [])),
  );
  if (queues.size === 0) return;
  const [resumed] = await rowsOf(client, statements.resumed, { ids: [...queues] as number[] });
  if (resumed)
    throw new StartError(
      `The queue ${resumed.name} was resumed after this import had begun, so its groups have gone on without the jobs that are ` +
        `left. It cannot go on. When all queues of this file are deleted, it begins anew.`,
    );
}

/** Puts in lines of one kind, inside a transaction. Returns how many were put in: the others were there already. */
export async function insertLines(
  client: pg.Client,
  kind: Inserted,
  numbered: Numbered[],
  target: Target,
): Promise<number> {
  const lines = arrayOf(numbered);
  switch (kind) {
    case 'queue':
      await insertQueues(client, numbered, target);
      return numbered.length;
    case 'job':
      await checkGroups(client, numbered, target);
      await rowsOf(client, statements.jobs, {
        lines,
        before: target.before,
        ...mapped(target),
        from_all: [...target.allIds.keys()],
        to_all: [...target.allIds.values()],
      });
      return numbered.length;
    case 'window':
      return (await rowsOf(client, statements.windows, { lines, ...mapped(target) })).length;
    case 'batch':
      await rowsOf(client, statements.batches, { lines, ...mapped(target) });
      return numbered.length;
    case 'follower':
      return (await rowsOf(client, statements.followers, { lines, ...mapped(target) })).length;
    case 'batch_state': {
      const batches = await rowsOf(client, statements.batchStates, { lines, ...mapped(target) });
      await rowsOf(client, statements.endBatches, { ids: batches.map(({ id }) => id) });
      return numbered.length;
    }
    case 'schedule':
      return (await rowsOf(client, statements.schedules, { lines })).length;
    case 'key': {
      const put = await rowsOf(client, statements.keys, { lines });
      await rowsOf(client, statements.keysChange, { creates: true });
      return put.length;
    }
  }
}
