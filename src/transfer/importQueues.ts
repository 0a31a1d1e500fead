import type pg from 'pg';
import { StartError } from '../errors.ts';
import { rowsOf } from '../postgres/client.ts';
import { planned } from '../postgres/statements.ts';
import type { QueueLine } from './format.ts';

const statements = {
  taken: planned('transfer/taken'),
  reserveIds: planned('transfer/reserve_ids'),
  release: planned('transfer/release_queues'),
  notify: planned('replicas/notify'),
};

/** One statement wakes the claims of so many queues. */
const MOST_TOGETHER = 500;

/** Refuses queues that are in the way, before anything is written. @throws StartError */
export async function checkQueues(client: pg.Client, queues: QueueLine[], newIds: boolean): Promise<void> {
  const taken = await rowsOf(client, statements.taken, {
    ids: queues.map(({ id }) => id),
    names: queues.map(({ name }) => name),
    new_ids: newIds,
  });
  if (taken.length === 0) return;
  const names = taken.slice(0, 5).map(({ name, has_jobs }) => `${name}${has_jobs ? ' (it has jobs)' : ''}`);
  const more = taken.length > 5 ? `, and ${taken.length - 5} more` : '';
  const advice = taken.some(({ has_jobs }) => has_jobs)
    ? 'Import into a database where they have no jobs'
    : 'Ids of jobs name their queue. --new-ids gives the jobs new ids; or delete these queues';
  throw new StartError(`Queues of this database are in the way: ${names.join(', ')}${more}. ${advice}.`);
}

/** Keeps the ids of these queues from queues that are created later. */
export async function reserveIds(client: pg.Client, queues: QueueLine[]): Promise<void> {
  const last = queues.reduce((last, { id }) => Math.max(last, id), 0);
  if (last > 0) await rowsOf(client, statements.reserveIds, { last });
}

/** Ends the pause of the queues, but for those that were paused in the export. Claims look at them again. */
export async function openQueues(client: pg.Client, queues: QueueLine[]): Promise<void> {
  await rowsOf(client, statements.release, {
    names: queues.map(({ name }) => name),
    paused: queues.map(({ paused }) => paused),
  });
  await wakeClaims(
    client,
    queues.map(({ name }) => name),
  );
}

/** Has the claims of these queues look for jobs. */
export async function wakeClaims(client: pg.Client, names: string[]): Promise<void> {
  for (let at = 0; at < names.length; at += MOST_TOGETHER)
    await rowsOf(client, statements.notify, {
      messages: names.slice(at, at + MOST_TOGETHER).map((name) => `ready sql ${name}`),
    });
}
