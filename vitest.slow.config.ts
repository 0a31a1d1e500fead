import { configDefaults, defineConfig } from 'vitest/config';
import base, { SLOW } from './vitest.config.ts';

export default defineConfig({
  test: { ...base.test, include: SLOW, exclude: configDefaults.exclude },
});
