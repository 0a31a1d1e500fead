import { expect, test } from 'vitest';
import { createKnownQueues } from '../../src/queues/known.ts';
import type { QueueRow } from '../../src/queues/queue.ts';

test('a bounded number of queues is known: those that were looked up last', () => {
  const known = createKnownQueues(3);
  const lookUp = (id: number) => known.beginLookUp()(id, { id, name: `q${id}`, backoff: '{}' } as QueueRow);
  for (const id of [1, 2, 3, 1, 4]) lookUp(id);
  const isKnown = (key: string | number) => known.last(key) !== undefined;
  expect([1, 2, 3, 4].filter(isKnown)).toEqual([1, 3, 4]);
  expect(['q1', 'q2', 'q3', 'q4'].filter(isKnown)).toEqual(['q1', 'q3', 'q4']);
});
