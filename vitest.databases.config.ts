import { defineConfig } from 'vitest/config';
import whole from './vitest.config.ts';

/**
 * Tests that speak to Dibs alone, and look into no database. `npm run test:databases` runs them over three, with queues
 * spread over these. Two such tests are left out, because several databases answer otherwise, by contract:
 * enqueue/refusals (a full queue elsewhere takes jobs; an Idempotency-Key is known where its first queue is), and
 * claim/claimRequest (jobs of a batch for queues elsewhere arrive within a second).
 */
const BLACK_BOX = [
  'access/guard',
  'access/wayAround',
  'changing/cancel',
  'changing/change',
  'changing/retry',
  'claim/lease',
  'claim/order',
  'claim/waitLine',
  'enqueue/batch',
  'enqueue/delays',
  'enqueue/enqueue',
  'enqueue/payload',
  'http/commonRefusals',
  'http/payloadFormat',
  'http/queries',
  'http/traceparent',
  'looking/overview',
  'looking/workers',
  'settle/errorText',
  'settle/results',
  'settle/settle',
];

export default defineConfig({
  test: {
    ...whole.test,
    include: BLACK_BOX.map((path) => `test/${path}.test.ts`),
    env: { TEST_DATABASES: '3' },
  },
});
