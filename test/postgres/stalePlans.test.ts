import { afterAll, beforeAll, expect, test } from 'vitest';
import { onServer } from '../support/database.ts';
import { type Service, startService } from '../support/service.ts';

let service: Service;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.stop());

/** As many requests at once as make the pool open several connections, each with statements of its own. */
const requests = () =>
  Promise.all(
    Array.from({ length: 12 }, async (_, i) => {
      const queue = `stale-${i}`;
      const enqueued = await service.call('POST', '/jobs', { queue });
      const claimed = await service.call('POST', '/jobs/claim', { queues: [queue] });
      const read = await service.call('GET', `/jobs/${enqueued.body.id}`);
      return [enqueued.status, claimed.status, read.status, read.body.deliveries];
    }),
  );

test('requests go on as before after a migration of a newer replica has changed the type of a column', async () => {
  for (const type of ['bigint', 'integer', 'bigint']) {
    for (const statuses of await requests()) expect(statuses).toEqual([201, 200, 200, 1]);
    await onServer(service.databaseUrl, `alter table dibs.jobs alter column deliveries type ${type}`);
  }
  for (const statuses of await requests()) expect(statuses).toEqual([201, 200, 200, 1]);
  expect(service.errors).toEqual([]);
});
