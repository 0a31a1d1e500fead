import type { Settings } from './setting.ts';

export const STOPPING = {
  DRAIN_SECONDS: {
    kind: 'integer',
    unit: 'seconds',
    default: 0,
    least: 0,
    most: 300,
    about:
      'How long a replica keeps serving after SIGTERM, with `/readyz` at 503, so that [a proxy notices](operating.md#stopping).',
  },
} satisfies Settings;
