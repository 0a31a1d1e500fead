import { afterAll, beforeAll, expect, test } from 'vitest';
import { createDatabase, createOtherDatabase } from '../support/database.ts';
import { expectProblem, UNKNOWN_TOKEN } from '../support/moves.ts';
import { type Service, startService } from '../support/service.ts';

let databases: Awaited<ReturnType<typeof createDatabase>>[];
let service: Service;
beforeAll(async () => {
  databases = [await createDatabase(), await createOtherDatabase()];
  const [home, east] = databases as unknown as [{ url: string }, { url: string }];
  service = await startService({ databaseUrl: home.url, others: { east: east.url } });
});
afterAll(async () => {
  await service.stop();
  for (const { drop } of databases) await drop();
});

test('where there are several databases, there are no sessions: 400 for one, and for a claim with one', async () => {
  for (const body of [{}, { session: UNKNOWN_TOKEN }])
    expectProblem(await service.call('POST', '/sessions', body), 400, 'invalid_request');
  const claim = { queues: ['q'], session: UNKNOWN_TOKEN };
  expectProblem(await service.call('POST', '/jobs/claim', claim), 400, 'invalid_request', '/session');
  expect((await service.call('POST', '/jobs/settle', { claim })).body.problem).toMatchObject({
    code: 'invalid_request',
  });
  expect((await service.call('POST', '/jobs/claim', { queues: ['q'] })).status).toBe(200);
});
