import { configDefaults, defineConfig } from 'vitest/config';
import base, { PROMETHEUS } from './vitest.config.ts';

export default defineConfig({
  test: { ...base.test, include: PROMETHEUS, exclude: configDefaults.exclude, maxWorkers: 1 },
});
