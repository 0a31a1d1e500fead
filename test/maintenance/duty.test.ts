import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { startDuty } from '../../src/maintenance/duty.ts';

test('a duty whose next time is just over runs again at once, without a warning of Node', async () => {
  const warned = once(process, 'warning').then(([{ message }]) => message);
  let runs = 0;
  const duty = startDuty(
    { name: 'test', everyMs: 60_000, run: async () => (++runs < 3 ? -0.00004 : 60_000) },
    { failed: (error) => expect.unreachable(String(error)) },
  );
  try {
    await expect.poll(() => runs).toBe(3);
    expect(await Promise.race([warned, sleep(50)])).toBeUndefined();
  } finally {
    await duty.stop();
  }
});
