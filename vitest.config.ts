import { configDefaults, defineConfig } from 'vitest/config';
import { LongestFirst } from './test/support/longestFirst.ts';
import { progress } from './test/support/progress.ts';

/** They run a Prometheus for a minute, beside several replicas. */
export const PROMETHEUS = ['test/metrics/alerts.test.ts', 'test/docs/scaling.test.ts'];

/**
 * They take long by their nature, and break rarely: replicas that rest or that nobody asks, long outages, a build again and again.
 * Run them before a release, and after a change of what they are about.
 */
export const SLOW = [
  'clients/conformance/longOutage.test.ts',
  'test/maintenance/asleep.test.ts',
  'test/maintenance/dueKilled.test.ts',
  'test/maintenance/leftAlone.test.ts',
  'test/maintenance/pruner.test.ts',
  'test/maintenance/restClaims.test.ts',
  'test/maintenance/restReplicas.test.ts',
  'test/service/blackHole.test.ts',
  'test/service/longOutage.test.ts',
  'test/service/startBuilds.test.ts',
  'test/sessions/sessionCut.test.ts',
  'test/sessions/sessionGrace.test.ts',
];

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts', 'clients/conformance/typescript.test.ts'],
    // These take minutes, and have commands of their own: test:sdks, test:packages, test:prometheus and test:slow.
    // test:clients plays the other clients.
    exclude: [...configDefaults.exclude, 'test/sdk/**', 'test/packages/**', ...PROMETHEUS, ...SLOW],
    globalSetup: ['test/support/globalSetup.ts'],
    // A terminal shows how far the run is. Where there is none, lines say it.
    reporters: process.stdout.isTTY ? ['default'] : ['default', progress()],
    // A third of the time a file waits: for leases, backoffs, replicas. So three at once keep two cores busy.
    maxWorkers: 3,
    sequence: { sequencer: LongestFirst },
    // Promises of workers are played side by side. Most of the time they wait.
    maxConcurrency: 12,
    // Only what hangs takes this long. A slow machine is no reason to fail.
    testTimeout: 180_000,
    hookTimeout: 180_000,
  },
});
