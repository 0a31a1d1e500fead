import { defineConfig } from 'vitest/config';

// `npm run test:clients`: every library, and the promises that take long, too.
process.env.CONFORMANCE_SLOW = '1';
process.env.CONFORMANCE_RESULTS ??= new URL('.work/results.jsonl', import.meta.url).pathname;

export default defineConfig({
  test: {
    root: new URL('../..', import.meta.url).pathname,
    include: ['clients/conformance/*.test.ts'],
    globalSetup: ['test/support/globalSetup.ts', 'clients/conformance/prepare.ts'],
    reporters: ['verbose'],
    // One library after the other: most promises are about time.
    maxWorkers: 1,
    maxConcurrency: 12,
    testTimeout: 900_000,
    hookTimeout: 180_000,
  },
});
