import { Type } from 'typebox';
import { JOB_STATES, type JobState } from '../../src/job.ts';
import { BATCH_EXPLAIN_CODES, BATCH_FOLLOWERS, BATCH_STATES } from '../../src/verbs/batches.ts';
import {
  nextCursor,
  nullable,
  nullableTime,
  oneOf,
  partlyAway,
  QueueName,
  ref,
  TIME_EXAMPLE,
  text,
  time,
} from './common.ts';
import { JobSpec } from './job.ts';

export const BatchStateName = oneOf(BATCH_STATES, {
  $id: 'BatchState',
  description:
    '`open`: more jobs may come. `running`: it is closed, and some of its jobs are unfinished. `succeeded`: all of them are completed. ' +
    '`ended`: all of them are finished, and some are dead or cancelled. When dead ones are retried, it is `running` again.',
});

export const BatchSpec = Type.Object(
  {
    queue: ref(QueueName),
    name: Type.Optional(text(256, { description: 'For people. Default: none.' })),
    jobs: Type.Optional(
      Type.Array(ref(JobSpec), {
        maxItems: 1000,
        description:
          'Its first jobs, of any queues in the database of `queue`. Each is enqueued as by `POST /jobs`, without a `batch`. ' +
          'Default: none.',
      }),
    ),
    on_success: Type.Optional(ref(JobSpec)),
    on_end: Type.Optional(ref(JobSpec)),
    closed: Type.Optional(
      Type.Boolean({ description: 'No more jobs come in, but those that its own jobs add. Default: false.' }),
    ),
  },
  {
    $id: 'BatchSpec',
    additionalProperties: false,
    description:
      'A batch, with its first jobs. When it is closed and all of its jobs are finished, `on_end` is enqueued, and `on_success` when all ' +
      'of them are completed. Their header `dibs-batch` has the id of the batch. A follower may belong to another batch: it counts there as unfinished until it is enqueued.',
    examples: [
      {
        queue: 'pages',
        name: 'issue 12',
        jobs: [{ queue: 'pages', payload: 1 }],
        on_success: { queue: 'books', payload: 'issue 12' },
      },
    ],
  },
);

const EXAMPLE = {
  id: '019aa5b2-7c1e-7a3f-9d2c-4b1e5f000001',
  name: 'issue 12',
  queue: 'pages',
  state: 'running',
  counts: { scheduled: 0, ready: 12, blocked: 0, leased: 3, completed: 984, cancelled: 0, dead: 1 },
  followers: ['on_end', 'on_success'],
  created_at: TIME_EXAMPLE,
  closed_at: TIME_EXAMPLE,
  finished_at: null,
};

export const BatchCounts = Type.Object(
  Object.fromEntries(
    JOB_STATES.map((state) => [state, Type.Integer({ description: `Jobs that are \`${state}\`.` })]),
  ) as Record<JobState, ReturnType<typeof Type.Integer>>,
  {
    $id: 'BatchCounts',
    description:
      'How many of its jobs are in each state. Those that have ended count for as long as the batch is kept, also when they are gone. One ' +
      'that was purged, deleted or moved to another database counts as cancelled. One in a dead letter queue counts as dead.',
  },
);

export const BatchFollower = oneOf(BATCH_FOLLOWERS, {
  $id: 'BatchFollower',
  description: 'What follows a batch.',
});

export const Batch = Type.Object(
  {
    id: Type.String({ description: 'Opaque. Ids of later batches of a queue sort higher.' }),
    name: nullable<string>('string', { description: 'For people.' }),
    queue: ref(QueueName),
    state: ref(BatchStateName),
    counts: ref(BatchCounts),
    followers: Type.Array(ref(BatchFollower), {
      description:
        'Which of its followers may still be enqueued. `on_success` stays while jobs are dead, because they can be retried.',
    }),
    created_at: time('When it was created.'),
    closed_at: nullableTime('When it was closed.'),
    finished_at: nullableTime('When it was closed and all of its jobs were finished, for the first time.'),
  },
  { $id: 'Batch', description: 'A batch of jobs, with its progress.', examples: [EXAMPLE] },
);

export const BatchPage = Type.Object(
  {
    batches: Type.Array(ref(Batch), { description: 'The batches, newest first.' }),
    ...nextCursor,
    ...partlyAway,
  },
  {
    $id: 'BatchPage',
    description: 'A page of batches.',
    examples: [{ batches: [EXAMPLE], next_cursor: null }],
  },
);

export const BatchExplanation = Type.Object(
  {
    id: Type.String({ description: 'The id of the batch.' }),
    state: ref(BatchStateName),
    code: oneOf(BATCH_EXPLAIN_CODES, {
      description:
        'What the batch waits for. `jobs_unfinished`: the end of its jobs. `follower_awaited`: a job that follows another batch. ' +
        '`open`: to be closed. `jobs_dead`: it has ended, and its `on_success` waits for a retry of dead jobs. `finished`: nothing.',
    }),
    detail: Type.String({ description: 'The same in words.' }),
    job_id: Type.Optional(Type.String({ description: 'One of the jobs that it waits for.' })),
  },
  {
    $id: 'BatchExplanation',
    description: 'What a batch waits for.',
    examples: [
      {
        id: EXAMPLE.id,
        state: 'running',
        code: 'jobs_unfinished',
        detail: 'Jobs are unfinished: 12 ready, 3 leased. One of them is in the queue pages, and is leased.',
        job_id: '019aa5b2-7c1e-7a3f-9d2c-4b1e5f000001',
      },
    ],
  },
);
