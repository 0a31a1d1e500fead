import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { LOOK, withoutNumbers } from '../../src/looking/deadErrors.ts';
import { moves } from '../support/moves.ts';
import { type Service, startService } from '../support/service.ts';
import { onAll } from '../support/severalDatabases.ts';

let service: Service;
let at: ReturnType<typeof moves>;
let queue: string;
beforeAll(async () => {
  service = await startService();
  at = moves(service);
});
beforeEach(async () => {
  queue = at.newQueue();
  await at.configure(queue, {});
});
afterAll(() => service.stop());

const errors = async () => (await service.call('GET', `/queues/${queue}/errors`)).body;

/** Dead jobs, each with an error. They come in the order of the errors. */
async function bury(...all: string[]): Promise<string[]> {
  await at.enqueueAll(all.map(() => ({ queue })));
  const jobs = await at.claim(queue, { limit: all.length });
  for (const [i, job] of jobs.entries()) await at.settle('nack', job, { retry: false, error: all[i] });
  return jobs.map(({ id }: { id: string }) => id);
}

test('dead jobs are grouped by the first line of their error, numbers and ids left out, most jobs first', async () => {
  const ids = await bury(
    'timeout after 31 s\n    at send (mail.js:7)',
    'no user 019aa5b2-7c1e-7a3f-9d2c-4b1e5f000001',
    'timeout after 30 s\n    at other (mail.js:9)',
    'no user 019aa5b2-7c1e-7a3f-9d2c-4b1e5f000002',
    'timeout after 2 s',
  );
  expect(await errors()).toMatchObject({
    queue,
    looked_at: 5,
    complete: true,
    errors: [
      { error: 'timeout after # s', count: 3, error_contains: 'timeout after ', newest_job_id: ids[4] },
      { error: 'no user #', count: 2, error_contains: 'no user ', newest_job_id: ids[3] },
    ],
  });
});

test('error_contains finds the jobs of its group, and of no other where a text can tell them apart', async () => {
  await bury('SMTP 421 from a', 'SMTP 421 from a', 'SMTP 550 to b');
  const { errors: groups } = await errors();
  for (const { error_contains, count } of groups) {
    const found = await service.call('GET', `/jobs?${new URLSearchParams({ queue, error_contains })}`);
    expect(found.body.jobs).toHaveLength(count);
  }
});

test('where no text can find them, error_contains is null: no error, or nothing but a number', async () => {
  await bury('42');
  await at.enqueueAll([{ queue }]);
  const [job] = await at.claim(queue);
  await at.settle('nack', job, { retry: false });
  expect((await errors()).errors).toMatchObject([
    { error: null, error_contains: null, count: 1 },
    { error: '#', error_contains: null, count: 1 },
  ]);
});

test('the newest 5,000 dead jobs are looked at, and it is told that there are more', async () => {
  await onAll(
    service.databaseUrl,
    `insert into dibs.jobs (queue_id, state, id, run_at, created_at, finished_at, max_attempts, payload_bytes, priority, headers,
       payload, last_error)
     select q.id, 'dead', ('00000000-0000-7000-8000-' || lpad(to_hex(i), 6, '0') || lpad(to_hex(q.id), 6, '0'))::uuid,
       now(), now(), now(), 5, 1, 0, '{}', '1', case when i <= 10 then 'old' else 'new' end
     from dibs.queues q, generate_series(1, $2::integer) i where q.name = $1`,
    [queue, LOOK + 10],
  );
  expect(await errors()).toMatchObject({
    looked_at: LOOK,
    complete: false,
    errors: [{ error: 'new', count: LOOK }],
  });
});

test.each([
  ['ids in hex', 'job 4bf92f3577b34da6a3ce929d0e0e4736 of dead face', 'job # of dead face'],
  ['numbers in words', 'worker-7 gave error E1234x', 'worker-# gave error E#x'],
  ['a time', 'at 2026-11-25T14:06:16.123Z', 'at #-#-#T#:#:#.#Z'],
])('%s are left out', (_, error, expected) => expect(withoutNumbers(error)).toBe(expected));
