import { expect, test } from 'vitest';
import { createQueueMemories } from '../../src/claim/queueMemories.ts';

const queue = (id: number) => ({ id, name: `q${id}` });

test('a replica remembers a bounded number of queues: those that were claimed from last', () => {
  const memories = createQueueMemories(3);
  const first = memories.of(queue(1));
  for (const id of [2, 3]) memories.of(queue(id));
  expect(memories.of(queue(1))).toBe(first);
  memories.of(queue(4));
  expect(memories.all().map(({ name }) => name)).toEqual(['q3', 'q1', 'q4']);
  expect(memories.find('q2')).toBe(undefined);
});

test('a queue that was deleted and created again is remembered anew', () => {
  const memories = createQueueMemories(3);
  const before = memories.of({ id: 1, name: 'q' });
  const after = memories.of({ id: 2, name: 'q' });
  expect(after).not.toBe(before);
  expect(memories.all()).toEqual([after]);
});
