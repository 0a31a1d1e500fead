import { afterAll, beforeAll, expect, test } from 'vitest';
import { client } from '../support/client.ts';
import { createDatabase } from '../support/database.ts';
import { type Replica, startReplica } from '../support/replica.ts';
import { onAll } from '../support/severalDatabases.ts';
import { until } from '../support/until.ts';

const MANY = 5000;

let database: Awaited<ReturnType<typeof createDatabase>>;
const replicas: Replica[] = [];
beforeAll(async () => {
  database = await createDatabase();
  await start();
  // Notes each change of a job, and makes it slow enough for a kill in the middle of a portion.
  await sql(`
    create table public.changes (id uuid, queue_id integer);
    create function public.note_change() returns trigger language plpgsql as $$
    begin
      insert into public.changes values (old.id, new.queue_id);
      if random() < 0.2 then perform pg_sleep(0.0005); end if;
      return new;
    end $$;
    create trigger note_change after update on dibs.jobs for each row execute function public.note_change()`);
});
afterAll(async () => {
  for (const replica of replicas) await replica.end('SIGKILL');
  await database.drop();
});

const sql = (text: string, values: unknown[] = []) => onAll<{ count: number }>(database.url, text, values);

async function start() {
  const replica = await startReplica({ DATABASE_URL: database.url });
  replicas.push(replica);
  return client(replica.url);
}

const fill = (queue: string) =>
  sql(
    `insert into dibs.jobs (queue_id, state, id, run_at, created_at, max_attempts, payload_bytes, priority, headers, payload)
     select q.id, 'ready', ('00000000-0000-7000-8000-' || lpad(to_hex(i), 6, '0') || lpad(to_hex(q.id), 6, '0'))::uuid,
       now(), now(), 5, 4, 0, '{}', to_json(i)
     from dibs.queues q, generate_series(1, $2::integer) i where q.name = $1`,
    [queue, MANY],
  );

test.each(['cancel', 'move'])(
  'kill -9 of the replica in the middle of a %s: another goes on, and nothing is lost or done twice',
  async (verb) => {
    const last = replicas.at(-1) as Replica;
    const calls = client(last.url);
    const [queue, to] = [`${verb}.from`, `${verb}.to`];
    await calls.ok('PUT', `/queues/${queue}`, { retention_seconds: 600 });
    await calls.ok('PUT', `/queues/${to}`, {});
    await fill(queue);
    await sql('truncate public.changes');
    const body = { verb, queue, ...(verb === 'move' ? { to } : {}), filter: { states: ['ready'] } };
    const { id } = await calls.ok('POST', '/operations', body);
    await until(async () => (await calls.ok('GET', `/operations/${id}`)).done > 0, { everyMs: 5 });
    await last.end('SIGKILL');

    const other = await start();
    const ended = await until(async () => {
      const found = await other.ok('GET', `/operations/${id}`);
      return found.state !== 'running' && found;
    });
    expect(ended).toMatchObject({ state: 'done', matched: MANY, done: MANY, skipped: 0 });
    const [changed] = await sql(
      'select count(*)::integer as count, count(distinct id)::integer as jobs from changes',
    );
    expect(changed).toEqual({ count: MANY, jobs: MANY });
    const [from, target] = [await other.counts(queue), await other.counts(to)];
    expect(from.ready).toBe(0);
    expect(verb === 'cancel' ? from.cancelled : target.ready).toBe(MANY);
  },
);
