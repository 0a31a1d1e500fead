import { expect, test } from 'vitest';
import { createDueJobs } from '../../src/maintenance/dueJobs.ts';

const ids = (queue: string, from: number, count: number) =>
  Array.from({ length: count }, (_, i) => `${queue}${from + i}`);
const sizes = (parts: { queueId: number; ids: string[] }[]) =>
  Object.fromEntries(parts.map((part) => [part.queueId, part.ids.length]));

test('a chunk has as much of each queue as of any other that has it', () => {
  const due = createDueJobs();
  due.add(1, ids('a', 0, 100_000));
  due.add(2, ids('b', 0, 3));
  due.add(3, ids('c', 0, 1000));
  expect(sizes(due.take(200))).toEqual({ 1: 98, 2: 3, 3: 99 });
  expect(sizes(due.take(200))).toEqual({ 1: 100, 3: 100 });
  expect(due.size()).toBe(100_000 + 3 + 1000 - 400);
});

test('a queue keeps its order, also when some of its jobs could not be moved', () => {
  const due = createDueJobs();
  due.add(1, ids('a', 0, 6000));
  const taken = due.take(5500).flatMap((part) => part.ids);
  due.add(1, ids('a', 6000, 10));
  const failed = due.take(100);
  for (const { queueId, ids } of failed) due.putBack(queueId, ids);
  taken.push(...due.take(1000).flatMap((part) => part.ids));
  expect(taken).toEqual(ids('a', 0, 6010));
  expect(due.size()).toBe(0);
});

test('when there are more queues than a chunk has jobs, the others come next', () => {
  const due = createDueJobs();
  for (let queue = 1; queue <= 500; queue++) due.add(queue, ids(`${queue}-`, 0, 2));
  const served = [0, 1, 2].flatMap(() => due.take(200).map(({ queueId }) => queueId));
  expect(new Set(served).size).toBe(500);
});
