// Runs test/mixed/mixed.test.ts for longer: `npm run soak -- [--seconds 300] [--seed <number>] [--databases 3]`.

import { spawnSync } from 'node:child_process';
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '300' },
    seed: { type: 'string', default: '' },
    databases: { type: 'string' },
  },
});
const env = { ...process.env, MIXED_SECONDS: values.seconds, MIXED_SEED: values.seed };
if (values.databases) env.TEST_DATABASES = values.databases;
process.exitCode =
  spawnSync('npx', ['vitest', 'run', 'test/mixed/mixed.test.ts'], { stdio: 'inherit', env }).status ?? 1;
