import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { client } from '../support/client.ts';
import { createDatabase } from '../support/database.ts';
import { http, startReplica } from '../support/replica.ts';
import { holdSession } from '../support/sessions.ts';
import { until } from '../support/until.ts';

test('after all replicas were away, a session of before can be resumed for RESCUE_GRACE_SECONDS, and ends then', async () => {
  const alone = await createDatabase();
  const env = { DATABASE_URL: alone.url, RESCUE_GRACE_SECONDS: '10' };
  const before = await startReplica(env);
  for (let n = 0; n < 2; n++) await client(before.url).enqueue('alone');
  const sessions = [];
  for (let n = 0; n < 2; n++) {
    const session = await holdSession(before.url, { resume_seconds: 0 });
    const body = { queues: ['alone'], session: session.id, lease_seconds: 600 };
    const { jobs } = (await http(before.url, 'POST', '/jobs/claim', body)).body;
    sessions.push({ session, id: jobs[0].id });
  }
  await before.end('SIGKILL');
  await sleep(4000);
  const after = await startReplica(env);
  const [kept, lost] = sessions as [(typeof sessions)[number], (typeof sessions)[number]];
  const resumed = await holdSession(after.url, { session: kept.session.id });
  const stateOf = async (id: string) => (await http(after.url, 'GET', `/jobs/${id}`)).body.state;
  await until(async () => (await stateOf(lost.id)) === 'ready');
  expect(await stateOf(kept.id)).toBe('leased');
  resumed.hangUp();
  await after.end('SIGKILL');
  await alone.drop();
});
