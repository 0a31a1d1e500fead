import { Type } from 'typebox';
import { DatabaseName, oneOf, ref } from './common.ts';

export const NotReady = Type.Object(
  {
    name: ref(DatabaseName),
    reason: Type.String({ description: 'Why it takes no writes.' }),
  },
  {
    $id: 'NotReady',
    description: 'A database that takes no writes now.',
    examples: [{ name: 'b', reason: 'It does not answer.' }],
  },
);

export const Health = Type.Object(
  {
    status: oneOf(['ok'], {
      'x-enum-varnames': ['HealthOk'],
      description: 'Always `ok`: what is not well is a problem document.',
    }),
    not_ready: Type.Optional(
      Type.Array(ref(NotReady), {
        description:
          'Of `/readyz`, where there are several databases: those that take no writes now. Left out while all do.',
      }),
    ),
  },
  { $id: 'Health', description: 'Alive or ready.', examples: [{ status: 'ok' }] },
);

export const Version = Type.Object(
  {
    version: Type.String({ description: 'The version of Dibs.' }),
    node: Type.String({ description: 'The version of Node.js that it runs on.' }),
  },
  {
    $id: 'Version',
    description: 'Which Dibs answers.',
    examples: [{ version: '0.1.0', node: '24.11.1' }],
  },
);

export const MetricsText = Type.String({
  $id: 'MetricsText',
  description: 'Metrics in the text format of Prometheus or of OpenMetrics.',
  examples: ['# TYPE dibs_queue_jobs gauge\ndibs_queue_jobs{queue="mail",state="ready"} 3\n'],
});
