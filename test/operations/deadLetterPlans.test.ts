import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createDatabase, openClient } from '../support/database.ts';
import { type Mode, outline, prepare, rowsTouched } from '../support/plans.ts';
import { rowsOf } from '../support/statements.ts';

const LETTERS = 30_000;
const PAGE = 200;
const HISTORIES = { 'never analyzed': '', 'analyzed while empty': 'vacuum analyze dibs.jobs, dibs.queues' };

/** Queue 1 has the letters of queue 2, and queue 3 as many jobs of its own. */
async function makeLetters(client: pg.Client): Promise<void> {
  await client.query(
    `insert into dibs.queues (id, name, dead_letter_queue) values (1, 'letters', null), (2, 'mail', 'letters'), (3, 'other', null)`,
  );
  for (const queue of [1, 3])
    await client.query(
      `insert into dibs.jobs (queue_id, id, state, run_at, max_attempts, payload_bytes, priority, headers, payload)
       select $1::integer, (lpad(to_hex(n), 8, '0') || '-0000-7000-8000-' || lpad(to_hex($1::integer), 12, '0'))::uuid,
         'ready', now(), 5, 1, 0, '{"dibs-dead-from":"mail","dibs-dead-error":"boom"}', '1'
       from generate_series(1, ${LETTERS}) n`,
      [queue],
    );
}

describe.each(Object.entries(HISTORIES))('a dead letter queue of 30,000 jobs, %s', (_, prelude) => {
  let database: Awaited<ReturnType<typeof createDatabase>>;
  let client: pg.Client;
  beforeAll(async () => {
    database = await createDatabase();
    client = await openClient(database.url);
    await client.query('alter table dibs.jobs set (autovacuum_enabled = false)');
    if (prelude) await client.query(prelude);
    await makeLetters(client);
  });
  afterAll(async () => {
    await client.end();
    await database.drop();
  });

  test.each<Mode>(['generic', 'custom'])(
    'a page of letters goes home at a cost of its own (%s plan)',
    async (mode) => {
      const asked = { queue_id: 1, called_at: 'infinity', error_contains: 'boo', visible: null, limit: PAGE };
      const [, { id: after }] = (await rowsOf(client, 'operations/dead_letters_page', {
        ...asked,
        after: '00007000-0000-7000-8000-000000000000',
      })) as [unknown, { id: string }];
      const page = await prepare(client, 'operations/dead_letters_page', mode);
      const looked = await page.run({ ...asked, after });
      expect(rowsTouched(looked), outline(looked)).toBeLessThanOrEqual(PAGE);
      const rows = await rowsOf(client, 'operations/dead_letters_page', { ...asked, after });
      const ids = rows.filter(({ wanted }) => wanted).map(({ id }) => id as string);
      expect(ids).toHaveLength(PAGE);
      const send = await prepare(client, 'operations/send_home', mode);
      const sent = await send.run({ queue_id: 1, ids, positions: ids.map((_, i) => LETTERS + i) });
      expect(rowsTouched(sent), outline(sent)).toBeLessThanOrEqual(4 * PAGE);
    },
  );
});
