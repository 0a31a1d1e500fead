import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';

const load = (path: string) => import(new URL(`../../examples/${path}`, import.meta.url).href);
const { hasPrometheus } = await load('support/prometheus.mjs');
const { replicasFor } = await load('scaling/scaler.mjs');

test.skipIf(!hasPrometheus)(
  'examples/scaling: workers go from none to many and back, by the queries of deploy/keda and a running Prometheus',
  async () => {
    const { stdout } = await promisify(execFile)('node', ['examples/scaling/run.mjs', '40']);
    expect(stdout).toMatch(/^no jobs, 0 workers$/m);
    expect(stdout).toMatch(/^workers: 0 → 4 \(40 jobs, /m);
    expect(stdout).toMatch(/^40 jobs done, each once: yes\. Workers: 0 → 4 → 0$/m);
  },
);

describe('how many workers there are', () => {
  const trigger = (threshold: string, activationThreshold: string) => ({
    metadata: { threshold, activationThreshold },
  });
  const spec = {
    minReplicaCount: 0,
    maxReplicaCount: 20,
    cooldownPeriod: 60,
    triggers: [trigger('10', '0'), trigger('30', '30')],
  };
  test.each([
    ['none for an empty queue', [0, 0], { replicas: 0, idleSeconds: 5 }, 0],
    ['one for one job', [1, 0], { replicas: 0, idleSeconds: 0 }, 1],
    ['by depth', [95, 0], { replicas: 1, idleSeconds: 0 }, 10],
    ['by age, if that asks for more', [4, 100], { replicas: 1, idleSeconds: 0 }, 4],
    ['never more than the most', [5000, 0], { replicas: 1, idleSeconds: 0 }, 20],
    ['one until the cooldown is over', [0, 0], { replicas: 5, idleSeconds: 59 }, 1],
    ['none after it', [0, 0], { replicas: 1, idleSeconds: 60 }, 0],
  ])('%s', (_, values, state, replicas) => {
    expect(replicasFor(spec, values, state)).toBe(replicas);
  });
});
