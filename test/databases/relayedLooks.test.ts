import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { Lead } from '../../src/databases/lead.ts';
import type { WayOfJobs } from '../../src/databases/onItsWay.ts';
import { relayedLooks } from '../../src/databases/relayedLooks.ts';
import { until } from '../support/until.ts';

/** A job that never arrives, and how often anybody looked for it. */
function onItsWay() {
  let looks = 0;
  const looked = { job: { state: 'scheduled' }, relay: { awaited: async () => true } };
  const way = {
    async lookOrFind() {
      looks++;
      return looked;
    },
  };
  const lead = { home: { rooms: { waits: { closed: () => false } } } };
  const { waitForJob } = relayedLooks(way as unknown as WayOfJobs, lead as unknown as Lead);
  return { waitForJob, looks: () => looks };
}

test('a thousand clients that wait for jobs on their way look some hundred times a second, all together', async () => {
  const { waitForJob, looks } = onItsWay();
  const waits = Array.from({ length: 1000 }, () => waitForJob({ id: 'x', wait_seconds: 3 }));
  await sleep(2500);
  // Each looked at once. Every 200 ms for each were 12,000 more.
  expect(looks()).toBeLessThan(4000);
  await Promise.all(waits);
});

test('one that hangs up is not kept', async () => {
  const { waitForJob } = onItsWay();
  const hangUps: (() => void)[] = [];
  const onHangup = (hangUp: () => void) => void hangUps.push(hangUp);
  const waits = Array.from({ length: 100 }, () => waitForJob({ id: 'x', wait_seconds: 600, onHangup }));
  await until(async () => hangUps.length === 100);
  for (const hangUp of hangUps) hangUp();
  await Promise.all(waits);
});
