import { configDefaults, defineConfig } from 'vitest/config';
import base from './vitest.config.ts';

// They install the packages of `npm run package` into empty projects.
export default defineConfig({
  test: { ...base.test, include: ['test/packages/**/*.test.ts'], exclude: configDefaults.exclude },
});
