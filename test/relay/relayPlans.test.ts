import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createDatabase, openClient } from '../support/database.ts';
import { type Mode, outline, prepare, rowsRead, wholeScans } from '../support/plans.ts';
import type { ParametersOf, StatementName } from '../support/statements.ts';

const JOBS = 100_000;
const QUEUES = 1000;
const OF_QUEUE = JOBS / QUEUES;
const MODES: Mode[] = ['generic', 'custom'];

/** The jobs of the queues take turns, so those of one queue are on all pages. Every second queue has a parcel under way. */
async function makeRelay(client: pg.Client): Promise<void> {
  await client.query(
    `insert into dibs.relay (id, queue_id, queue, job, bytes)
     select id, 1 + n % ${QUEUES}, 'q' || (1 + n % ${QUEUES}),
       row(id, 0, null, 0, 5, null, '{}', '"payload"', null, null, null, null, null, null)::dibs.new_job, 11
     from (select n, md5(n::text)::uuid as id from generate_series(0, ${JOBS} - 1) as n) as made`,
  );
  await client.query(
    `insert into dibs.relay_parcels (queue_id, number, places)
     select queue_id, 1, case when queue_id % 2 = 0 then array_agg(place order by place) else '{}' end
     from dibs.relay group by queue_id`,
  );
  await client.query(
    `insert into dibs.queues (id, name) select n, 'q' || n from generate_series(1, ${QUEUES}) as n`,
  );
  await client.query(
    `insert into dibs.relay_arrivals (queue_id, source, number)
     select n, source, 1 from generate_series(1, ${QUEUES}) as n, unnest('{home,east,west}'::text[]) as source`,
  );
}

const BIG = ['relay', 'relay_parcels', 'relay_arrivals'];

/** The first column of each index. A scan without a condition on it reads the whole index. */
const FIRST: Record<string, string> = {
  relay_pkey: 'place',
  relay_id: 'id',
  relay_queue: 'queue_id',
  relay_parcels_pkey: 'queue_id',
  relay_arrivals_pkey: 'queue_id',
};

describe('a relay of 100,000 jobs for 1,000 queues', () => {
  const histories: Record<string, (client: pg.Client) => Promise<unknown>> = {
    'never analyzed': async () => undefined,
    'analyzed while empty': (client) =>
      client.query('vacuum analyze dibs.relay, dibs.relay_parcels, dibs.relay_arrivals'),
  };
  for (const [history, prelude] of Object.entries(histories))
    describe(history, () => {
      let database: Awaited<ReturnType<typeof createDatabase>>;
      let client: pg.Client;
      const kept = new Map<string, Awaited<ReturnType<typeof prepare>>>();
      let id: string;
      let places: number[];

      /** What each statement may read of these tables. */
      const statements = (): { [N in StatementName]?: { parameters: ParametersOf<N>; rows: number } } => ({
        'relay/begin': { parameters: { queue_id: 501, most: 500, most_bytes: 2 ** 22 }, rows: 2 * OF_QUEUE },
        'relay/parcel': { parameters: { queue_id: 500 }, rows: OF_QUEUE + 1 },
        'relay/end': { parameters: { queue_id: 500, number: 1, places }, rows: OF_QUEUE + 1 },
        'relay/drop': { parameters: { queue_id: 500, limit: 500 }, rows: 3 * OF_QUEUE },
        'relay/find': { parameters: { id }, rows: 1 },
        'relay/hold': { parameters: { id }, rows: 1 },
        'relay/remove': { parameters: { id }, rows: 3 },
        'relay/await': { parameters: { id, seconds: 10 }, rows: 1 },
        'relay/sent_to': { parameters: { after: 0, limit: 100 }, rows: 100 },
        'relay/forget': { parameters: { queue_ids: [498, 499] }, rows: 2 + 2 * OF_QUEUE },
        'relay/queues': { parameters: { after: 0, limit: 1000 }, rows: QUEUES },
        'relay/arrive': { parameters: { queue_id: 500, source: 'east', number: 2, ids: [id] }, rows: 0 },
      });

      beforeAll(async () => {
        database = await createDatabase();
        client = await openClient(database.url);
        for (const table of BIG)
          await client.query(`alter table dibs.${table} set (autovacuum_enabled = false)`);
        await prelude(client);
        id = '00000000-0000-0000-0000-000000000000';
        places = [];
        for (const mode of MODES)
          for (const [name, one] of Object.entries(statements())) {
            const statement = await prepare(client, name as StatementName, mode);
            // The first run makes the generic plan, and the connection keeps it.
            await statement.plan(one.parameters as never);
            kept.set(`${name} ${mode}`, statement);
          }
        await makeRelay(client);
        const { rows } = await client.query(
          'select id, array(select place from dibs.relay where queue_id = 500) as places from dibs.relay where queue_id = 501 limit 1',
        );
        ({ id, places } = rows[0]);
      });
      afterAll(async () => {
        await client.end();
        await database.drop();
      });

      async function judge(): Promise<void> {
        for (const mode of MODES)
          for (const [name, { parameters, rows }] of Object.entries(statements())) {
            const plan = await (kept.get(`${name} ${mode}`) as Awaited<ReturnType<typeof prepare>>).run(
              parameters as never,
            );
            const drawn = `${name} ${mode}\n${outline(plan)}`;
            expect(wholeScans(plan, BIG, FIRST), drawn).toEqual([]);
            expect(rowsRead(plan, BIG), drawn).toBeLessThanOrEqual(rows);
          }
      }

      test('each statement reads the jobs that it is about, and no others', judge);

      test('also after it was analyzed', async () => {
        await client.query('analyze dibs.relay, dibs.relay_parcels, dibs.relay_arrivals');
        await judge();
      });
    });
});
