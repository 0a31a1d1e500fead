import { defineConfig } from 'vitest/config';
import whole from './vitest.config.ts';

/** The inner loop: what breaks most often, in under a minute. CI runs it on other versions of Node, too. */
const QUICK = [
  'batching/*',
  'checkers/*',
  'house/*',
  'queues/*',
  'http/fingerprint',
  'http/routing',
  'claim/dispatcher',
  'claim/order',
  'claim/waitLine',
  'enqueue/batch',
  'enqueue/enqueue',
  'settle/settle',
  'schedules/cron',
  'maintenance/dueJobs',
  'maintenance/duty',
  'maintenance/scanHorizon',
  'postgres/garbage',
  'service/config',
];

export default defineConfig({
  test: { ...whole.test, include: QUICK.map((path) => `test/${path}.test.ts`) },
});
