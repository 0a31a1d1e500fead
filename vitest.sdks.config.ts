import { configDefaults, defineConfig } from 'vitest/config';
import base from './vitest.config.ts';

// Generators and compilers keep both cores busy. They would double the time of `npm test`.
export default defineConfig({
  test: {
    ...base.test,
    include: ['test/sdk/**/*.test.ts'],
    exclude: configDefaults.exclude,
    maxWorkers: 1,
    testTimeout: 600_000,
    hookTimeout: 600_000,
  },
});
