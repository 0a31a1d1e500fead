import { Type } from 'typebox';
import { JOB_STATES } from '../../src/job.ts';
import { DATABASE_STATES } from '../../src/verbs/databases.ts';
import { DatabaseName, oneOf, ref } from './common.ts';
import { QueueCounts } from './queue.ts';

const EXAMPLE = {
  name: 'home',
  state: 'open',
  queues: 12,
  counts: { ...Object.fromEntries(JOB_STATES.map((state) => [state, 0])), ready: 340 },
};

export const Database = Type.Object(
  {
    name: ref(DatabaseName),
    state: oneOf(DATABASE_STATES, {
      description:
        '`open`: new queues go there. `closed`: none do, unless a PUT chooses it. `away`: it does not answer; calls for its ' +
        'queues are 503.',
    }),
    queues: Type.Optional(
      Type.Integer({ description: 'How many queues it has. Left out while it is away.' }),
    ),
    counts: Type.Optional(ref(QueueCounts)),
  },
  {
    $id: 'Database',
    description:
      'A database, with the queues that this caller may see. `counts` has their jobs, as the metrics count them; it is left ' +
      'out while the database is away, and until all were counted once.',
    examples: [EXAMPLE],
  },
);

export const Databases = Type.Object(
  { databases: Type.Array(ref(Database), { description: 'The databases, `home` first.' }) },
  { $id: 'Databases', description: 'All databases of this Dibs.', examples: [{ databases: [EXAMPLE] }] },
);

export const DatabaseConfig = Type.Object(
  { accepts_queues: Type.Boolean({ description: 'New queues go there. Those that are there stay.' }) },
  {
    $id: 'DatabaseConfig',
    additionalProperties: false,
    description: 'How a database is used.',
    examples: [{ accepts_queues: false }],
  },
);
