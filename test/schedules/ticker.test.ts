import { expect, test } from 'vitest';
import type { Database } from '../../src/postgres/pool.ts';
import type { Statement } from '../../src/postgres/statements.ts';
import { scheduleTicks } from '../../src/schedules/ticker.ts';

test('a schedule whose job is refused is logged once, until nothing is due any more', async () => {
  const now = '2026-11-21T09:30:00.000Z';
  let due = ['a', 'b'];
  const query = async ({ text }: Statement) => {
    if (text.includes('limit 20'))
      return due.map((name) => ({ name, cron: '* * * * *', timezone: 'UTC', next_run_at: now, job: '{}' }));
    return [{ now, next_run_at: due.length > 0 ? now : '2026-11-21T09:31:00.000Z' }];
  };
  const logged: string[] = [];
  const tick = scheduleTicks({
    db: { query } as unknown as Database,
    enqueueWithin: async () => {
      throw new Error('refused');
    },
    log: (_, message) => logged.push(message),
  });

  for (let i = 0; i < 3; i++) await tick();
  expect(logged.map((line) => line.slice(0, 25))).toEqual([
    'the job of schedule a was',
    'the job of schedule b was',
  ]);
  due = [];
  await tick();
  due = ['a'];
  for (let i = 0; i < 3; i++) await tick();
  expect(logged).toHaveLength(3);
});
