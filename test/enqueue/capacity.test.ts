import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createCapacity } from '../../src/enqueue/capacity.ts';
import type { JobToInsert } from '../../src/enqueue/newJob.ts';
import type { Database } from '../../src/postgres/pool.ts';

test('a queue that an enqueue filled takes another job as soon as that one is claimed', async () => {
  let capacity = 1;
  // A slow count, as of a large queue: what it found about a full queue holds for a while.
  const db = { pipeline: () => sleep(50).then(() => [[], [{ capacity }]]) } as unknown as Database;
  const { within } = createCapacity(db);
  const queue = { id: 1, name: 'q', max_ready: 1 };
  const job = { queue, delay_seconds: 0, payload: '1', headers: '{}' } as JobToInsert;
  const enqueue = () => within([job], 0, async () => capacity--);

  await enqueue();
  capacity = 1;
  await enqueue();
  await expect(enqueue()).rejects.toThrow('full');
});
