import { defineConfig } from 'vitest/config';
import { progress } from './test/support/progress.ts';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts', 'clients/conformance/{typescript,work}.test.ts'],
    globalSetup: ['test/support/globalSetup.ts'],
    // A terminal shows how far the run is. Where there is none, lines say it.
    reporters: process.stdout.isTTY ? ['default'] : ['default', progress()],
    // Most of the time a file waits: for leases, backoffs, replicas. Two at once take 6.5 minutes on two cores, one after the other 11.
    maxWorkers: 2,
    // Only what hangs takes this long. A slow machine is no reason to fail.
    // Promises of workers are played side by side. Most of the time they wait.
    maxConcurrency: 12,
    testTimeout: 180_000,
    hookTimeout: 180_000,
  },
});
