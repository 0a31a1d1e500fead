import { configDefaults, defineConfig } from 'vitest/config';
import { overSeveral } from './test/support/overSeveral.ts';
import whole from './vitest.config.ts';

/** CI runs these: each verb, in a few minutes. */
const QUICK = [
  'access/guard',
  'access/wayAround',
  'changing/cancel',
  'changing/change',
  'changing/queues',
  'changing/retry',
  'claim/lease',
  'claim/limits',
  'claim/order',
  'claim/waitLine',
  'enqueue/batch',
  'enqueue/delays',
  'enqueue/enqueue',
  'enqueue/payload',
  'groups/groups',
  'http/commonRefusals',
  'http/payloadFormat',
  'http/queries',
  'http/traceparent',
  'looking/explain',
  'looking/jobList',
  'looking/overview',
  'looking/workers',
  'operations/deletePurgeRedrive',
  'schedules/schedules',
  'settle/errorText',
  'settle/results',
  'settle/retries',
  'settle/settle',
  'settle/settleAndClaim',
].map((path) => `test/${path}.test.ts`);

const isQuick = process.env.DATABASES === 'quick';

export default defineConfig({
  test: {
    ...whole.test,
    include: isQuick ? QUICK : overSeveral(),
    // The slow ones, too, where they start a Dibs over several databases.
    exclude: configDefaults.exclude,
    env: { TEST_DATABASES: '3' },
  },
});
