import type pg from 'pg';
import { groupBy } from '../claim/groupBy.ts';
import { rowsOf } from '../postgres/client.ts';
import { planned, row } from '../postgres/statements.ts';
import type { Receive, RelayedJob } from '../relay/receive.ts';
import { arrayOf, type Numbered, type Target } from './insertLines.ts';

const statements = {
  jobs: planned(
    'transfer/relayed_jobs',
    row<Omit<RelayedJob, 'place' | 'awaited_seconds'> & { queue_id: number }>(),
  ),
  arrived: planned('transfer/relay_arrived', row<{ queue_id: number; number: number }>()),
  forget: planned('transfer/forget_arrivals'),
};

/** What the relay of this database calls an import. */
export const sourceOf = (key: string): string => `import ${key}`;

const idIn = (id: string, queueId: number) => id.slice(0, 30) + queueId.toString(16).padStart(6, '0');

/**
 * Has jobs arrive that were on their way when they were exported, as they would have there. The parcels to a queue have the
 * numbers of their last lines. So what has arrived, and is not noted as that, does not arrive again.
 */
export async function receiveLines(
  client: pg.Client,
  receive: Receive,
  {
    key,
    lines,
    target,
    nameOf,
  }: { key: string; lines: Numbered[]; target: Target; nameOf(queueId: number): string },
): Promise<void> {
  const source = sourceOf(key);
  const queues = groupBy(lines, ({ queueId }) => target.ids.get(queueId as number) as number);
  const last = await rowsOf(client, statements.arrived, { source, queue_ids: [...queues.keys()] });
  const lastOf = new Map(last.map(({ queue_id, number }) => [queue_id, number]));
  for (const [queueId, own] of queues) {
    const left = own.filter(({ number }) => number > (lastOf.get(queueId) ?? 0));
    if (left.length === 0) continue;
    const jobs = await rowsOf(client, statements.jobs, { lines: arrayOf(left) });
    await receive({
      source,
      queueId,
      queue: nameOf(queueId),
      number: left.at(-1)?.number as number,
      readAt: performance.now(),
      jobs: jobs.map((job) => ({ ...job, place: 0, awaited_seconds: null, id: idIn(job.id, queueId) })),
    });
  }
}

/** No more parcels come from this import. */
export const forgetSource = (client: pg.Client, key: string) =>
  rowsOf(client, statements.forget, { source: sourceOf(key) });
