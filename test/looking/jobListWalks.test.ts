import { afterAll, beforeAll, expect, test } from 'vitest';
import { aroundQueries } from '../support/aroundQueries.ts';
import { moves } from '../support/moves.ts';
import { type Service, startService } from '../support/service.ts';
import { onAll } from '../support/severalDatabases.ts';

/*
 * Lists whose jobs no index has in the order of the list: ready ones, leased ones, and those of a group or unique key in one state. Most
 * jobs that lie in between are in other states.
 */

const JOBS = 9000;
/** One queue has few jobs that match behind thousands that do not, one has only these, and one has only others. */
const [RARE, DENSE, NONE] = ['walks.rare', 'walks.dense', 'walks.none'] as const;

let service: Service;
const sql = (text: string, ...values: unknown[]) => onAll(service.databaseUrl, text, values);

beforeAll(async () => {
  service = await startService();
  const at = moves(service);
  for (const queue of [RARE, DENSE, NONE]) await at.configure(queue, {});
  await sql(
    `insert into dibs.jobs (queue_id, id, state, run_at, created_at, finished_at, max_attempts, payload_bytes, priority, headers,
       payload, group_key, is_head, unique_key, fairness_key)
     select q.id, ('00000000-0000-7000-8000-' || lpad(to_hex(i), 6, '0') || lpad(to_hex(q.id), 6, '0'))::uuid, kind.state::dibs.job_state,
       now(), now(), case when kind.state = 'dead' then now() end, 5, 4, 0, '{}', 'null',
       case when i % 3 = 0 and kind.state = 'dead' then 'g' end, false,
       case when kind.state = 'dead' then 'u' else 'u' || i end, case when i % 4 = 0 then 'f' end
     from generate_series(0, $1::integer - 1) as i
     join dibs.queues q on q.name = (array[$2, $3, $2, $4])[i % 4 + 1]
     cross join lateral (
       select case when q.name = $2 and (i < 20 or i > $1 - 30 or i = 4000) or q.name = $3 and i < 400 then 'ready' else 'dead' end as state
     ) as kind
     where q.name <> $3 or i < 400`,
    JOBS,
    RARE,
    DENSE,
    NONE,
  );
  for (const queue of [RARE, DENSE]) await at.claim(queue, { limit: 3, worker: `w-${queue}` });
});
afterAll(() => service.stop());

/** The ids on all pages, and the number of jobs on each. */
async function listed(query: Record<string, string>) {
  const ids: string[] = [];
  const sizes: number[] = [];
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const search = new URLSearchParams({ ...query, ...(cursor ? { cursor } : {}) });
    const { body, status, text } = await service.call('GET', `/jobs?${search}`);
    expect(status, text).toBe(200);
    ids.push(...body.jobs.map(({ id }: { id: string }) => id));
    sizes.push(body.jobs.length);
    cursor = body.next_cursor;
  }
  return { ids, sizes };
}

const FILTERS = {
  'the ready jobs': { state: 'ready' },
  'the leased jobs': { state: 'leased' },
  'the leased jobs of a worker of a queue': { state: 'leased', queue: RARE, worker: `w-${RARE}` },
  'the ready jobs of a queue': { state: 'ready', queue: RARE },
  'the ready jobs of a queue that has none': { state: 'ready', queue: NONE },
  'the leased jobs of a queue': { state: 'leased', queue: DENSE },
  'the ready jobs with a fairness key of a queue': { state: 'ready', queue: RARE, fairness_key: 'f' },
  'the dead jobs of a group': { state: 'dead', group: 'g' },
  'the ready jobs of a group': { state: 'ready', group: 'g' },
  'the dead jobs of a group of a queue': { state: 'dead', group: 'g', queue: NONE },
  'the ready jobs of a group of a queue': { state: 'ready', group: 'g', queue: NONE },
  'the dead jobs of a unique key': { state: 'dead', unique_key: 'u', queue: RARE },
} satisfies Record<string, Record<string, string>>;

test.each(Object.entries(FILTERS))('%s are all found, each once, in order', async (_, filters) => {
  const { queue, state, worker, group, unique_key, fairness_key }: Record<string, string | undefined> =
    filters;
  for (const order of ['newest', 'oldest']) {
    const rows = await sql(
      `select j.id from dibs.jobs j join dibs.queues q on q.id = j.queue_id
       where j.state::text = $1 and ($2::text is null or q.name = $2) and ($3::text is null or worker = $3)
         and ($4::text is null or group_key = $4) and ($5::text is null or unique_key = $5)
         and ($6::text is null or fairness_key = $6)
       order by j.id ${order === 'newest' ? 'desc' : 'asc'}`,
      ...[state, queue ?? null, worker ?? null, group ?? null, unique_key ?? null, fairness_key ?? null],
    );
    const expected = rows.map(({ id }) => id);
    for (const limit of ['7', '1000'].slice(expected.length > 200 ? 1 : 0))
      expect((await listed({ ...filters, order, limit })).ids).toEqual(expected);
  }
});

test('a request for ready jobs looks at a bounded number of jobs', async () => {
  const undo = aroundQueries(service, async (_, parameters, run) => {
    const rows = await run();
    if (parameters && 'look' in parameters) await new Promise((resolve) => setTimeout(resolve, 60));
    return rows;
  });
  try {
    for (const more of [{}, { queue: RARE }] as Record<string, string>[])
      expect(
        (await listed({ state: 'ready', order: 'oldest', limit: '1000', ...more })).sizes.length,
      ).toBeGreaterThan(1);
  } finally {
    undo();
  }
});
