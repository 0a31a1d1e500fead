import { afterAll, beforeAll, expect, test } from 'vitest';
import { openClient } from '../support/database.ts';
import { eventually, moves } from '../support/moves.ts';
import { type Service, startService } from '../support/service.ts';
import { holdSession } from '../support/sessions.ts';
import { databaseOf } from '../support/severalDatabases.ts';

let service: Service;
let at: ReturnType<typeof moves>;
beforeAll(async () => {
  service = await startService();
  at = moves(service);
});
afterAll(() => service.stop());

test('a queue whose leases cannot be taken back, as its dead letter queue is locked, keeps no other queue from it', async () => {
  const letters = 'held.letters';
  const [before, held, after] = ['held.before', 'held.itself', 'held.after'];
  await at.configure(letters, {});
  await at.configure(before, {});
  await at.configure(held, { dead_letter_queue: letters, max_attempts: 1 });
  const jobs = [];
  for (const queue of [before, held, after]) jobs.push(await at.enqueue({ queue }));
  const holder = await openClient(await databaseOf(service.databaseUrl, letters));
  await holder.query('begin');
  await holder.query(`select from dibs.queues where name = '${letters}' for update`);
  expect(await at.claim([before, held, after], { limit: 3, lease_seconds: 0.5 })).toHaveLength(3);
  await at.reaches(jobs[0].id, 'ready');
  await at.reaches(jobs[2].id, 'ready');
  await holder.query('rollback');
  await holder.end();
  await eventually(async () => expect(await at.drain(letters)).toHaveLength(1));
});

test('a thousand leases of a lost session that cannot be taken back keep no other lease from it', async () => {
  const [letters, held, other] = ['lost.letters', 'lost.held', 'lost.other'];
  await at.configure(letters, {});
  await at.configure(held, { dead_letter_queue: letters, max_attempts: 1 });
  await at.enqueueAll(Array.from({ length: 1000 }, () => ({ queue: held })));
  const { id } = await at.enqueue({ queue: other });
  const session = await holdSession(await service.listen(), { resume_seconds: 0 });
  const lease = { session: session.id, lease_seconds: 600 };
  expect(await at.claim(held, { ...lease, limit: 1000 })).toHaveLength(1000);
  await at.claimOne(other, lease);
  const holder = await openClient(await databaseOf(service.databaseUrl, letters));
  await holder.query('begin');
  await holder.query(`select from dibs.queues where name = '${letters}' for update`);
  session.hangUp();
  await at.reaches(id, 'ready');
  await holder.query('rollback');
  await holder.end();
  await eventually(async () =>
    expect((await at.ok('GET', `/queues/${letters}`)).counts).toMatchObject({ ready: 1000 }),
  );
});
