import { afterAll, beforeAll, expect, test } from 'vitest';
import { markOf } from '../../src/claim/claimRows.ts';
import { eventually, moves } from '../support/moves.ts';
import { recordingEngine } from '../support/recordingEngine.ts';
import { type Service, startService } from '../support/service.ts';
import { onAll } from '../support/severalDatabases.ts';

let service: Service;
let at: ReturnType<typeof moves>;
beforeAll(async () => {
  service = await startService();
  at = moves(service);
});
afterAll(() => service.stop());

const sql = (text: string, values: unknown[] = []) => onAll(service.databaseUrl, text, values);
const rowsOf = (claim_id: string, queue: string) =>
  sql('select * from dibs.repeatable_claims where mark = $1', [markOf(claim_id, [queue])]);
/** A scan looks only once in half a minute for what was over long ago. */
const makeDue = () => sql(`update dibs.repeatable_claims set until = now() + interval '0.2 seconds'`);

test('the row of a claim is pruned once none of its leases is left, and stays while one runs', async () => {
  const queue = at.newQueue();
  await at.enqueueAll([{ queue }, { queue }]);
  const done = await at.claimOne(queue, { claim_id: 'done' });
  const runs = await at.claimOne(queue, { claim_id: 'runs', lease_seconds: 600 });
  await at.settle('ack', done);
  await makeDue();
  await eventually(async () => {
    // Where nothing is done, such rows are deleted once a minute.
    await at.enqueue({ queue: 'awake' });
    expect(await rowsOf('done', queue)).toEqual([]);
  });
  await eventually(async () => {
    const [row] = await rowsOf('runs', queue);
    // It is looked at again when the lease ends.
    expect(Number(row?.until)).toBe(Date.parse(runs.lease_expires_at));
  });
  expect(await at.claim(queue, { claim_id: 'runs', lease_seconds: 600 })).toEqual([runs]);
});

test('a claim writes one row, and a claim without a claim_id writes none', async () => {
  const before = await sql('select mark from dibs.repeatable_claims');
  const queue = at.newQueue();
  await at.enqueueAll([{ queue }, { queue }]);
  await at.claimOne(queue);
  expect(await sql('select mark from dibs.repeatable_claims')).toEqual(before);
  await at.claimOne(queue, { claim_id: 'one' });
  expect(await rowsOf('one', queue)).toMatchObject([{ answerers: null, waits: false, looking_until: null }]);
});

test('a claim of several queues writes its row at its first look, and touches it again only when it leases', async () => {
  const { engine, roundTrips, stop } = await recordingEngine(service.databaseUrl);
  const queue = at.newQueue();
  const queues = [queue, at.queueBeside(queue), at.queueBeside(queue), at.queueBeside(queue)];
  for (const queue of queues.slice(0, 3)) await at.configure(queue, {});
  const writes = () => roundTrips.flat().filter((name) => name === 'claim/own').length;
  expect(await engine.claim({ queues, claim_id: 'finds none' })).toEqual([]);
  expect(writes()).toBe(1);
  const { id } = await at.enqueue({ queue: queues[2] as string });
  const wish = { queues, claim_id: 'finds one' };
  const jobs = await engine.claim(wish);
  expect(jobs).toMatchObject([{ id }]);
  expect(writes()).toBe(2);
  expect((await at.ok('POST', '/jobs/claim', wish)).jobs).toMatchObject([
    { id, lease_token: jobs[0]?.lease_token },
  ]);
  await stop();
});
