import { expect, test } from 'vitest';
import { onServer } from '../support/database.ts';
import { HEALTHY, useRelocatingReplicas } from '../support/relocatingReplicas.ts';

const { urls, home, work, begin, expectWhole, finish } = useRelocatingReplicas();

/** The columns that have no null and a default, and that the first Dibs had which relocated queues. Later ones are added by migrations. */
const FIRST = [
  'id',
  'paused',
  'lease_seconds',
  'max_attempts',
  'backoff',
  'retention_seconds',
  'dead_retention_seconds',
  'created_at',
  'fair',
  'alert_after_seconds',
];

/** The queue has left `a`, by a replica that crashed then, and an older Dibs has kept its row. Returns what that lacks. */
async function keptByOlder(queue: string) {
  await begin(`sane-${queue}`, 'a', 'b');
  const { copyAt } = await work(HEALTHY);
  const begun = await begin(queue, 'a', 'b');
  await work({ at: copyAt, when: 'before' });
  const later = await onServer<{ name: string; initial: string }>(
    urls.a as string,
    `select column_name as name, column_default as initial
     from information_schema.columns
     where table_schema = 'dibs' and table_name = 'queues' and is_nullable = 'NO' and column_default is not null
       and column_name <> all ($1)`,
    [FIRST],
  );
  const noted = await onServer(
    urls.a as string,
    'update dibs.relocating_queues set queue = (queue::jsonb - $2::text[])::json where queue_id = $1 returning queue_id',
    [begun.queue_id, later.map(({ name }) => name)],
  );
  expect(noted).toHaveLength(1);
  return { ...begun, later };
}

test.each(['a', 'b'])(
  'a queue whose row an older Dibs kept gets the defaults of later columns when it comes to %s',
  async (database) => {
    const queue = `older-${database}`;
    const { ids, queue_id, later } = await keptByOlder(queue);
    expect(later.map(({ name }) => name)).toContain('group_batches');
    if (database === 'a')
      await home(`update dibs.relocations set is_stopped = true where queue = '${queue}'`);
    expect(await finish(queue)).toBe(database === 'a' ? 'cancelled' : 'done');
    const defaults = later.map(({ name, initial }) => `${name} = ${initial}`).join(' and ');
    const url = urls[database] as string;
    expect(
      await onServer(url, `select from dibs.queues where id = ${queue_id} and ${defaults}`),
    ).toHaveLength(1);
    await expectWhole(queue, queue_id, ids, database);
  },
);
