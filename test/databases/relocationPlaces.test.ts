import { expect, test } from 'vitest';
import type { Between } from '../../src/databases/relocation/context.ts';
import type { Record, Relocation } from '../../src/databases/relocation/record.ts';
import { workOn } from '../../src/databases/relocation/work.ts';
import { unavailable } from '../../src/errors.ts';

test('a relocation that cannot go on, as a database is away, gives its place to others after a while', async () => {
  const away = { base: { db: { query: async () => Promise.reject(unavailable()) } } };
  const between = { source: away, target: away, others: [] } as unknown as Between;
  let isLeft = false;
  const record = {
    goOn: async () => false,
    leave: async () => {
      isLeft = true;
    },
  } as unknown as Record;
  const relocation = { id: 'r', queue_id: 1, queue: 'q', phase: 'cleaning' } as unknown as Relocation;
  const stopping = new AbortController().signal;
  await workOn(relocation, between, { record, stopping, log: () => undefined });
  expect(relocation.phase).toBe('cleaning');
  expect(isLeft).toBe(true);
});
