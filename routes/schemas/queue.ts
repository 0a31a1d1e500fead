import { Type } from 'typebox';
import { JOB_STATES, type JobState, LONGEST_SECONDS } from '../../src/job.ts';
import type { QueueConfig as Config, QueueLimits } from '../../src/verbs/queues.ts';
import {
  DatabaseName,
  decimal,
  delaySeconds,
  leaseSeconds,
  nextCursor,
  nullable,
  oneOf,
  partlyAway,
  QueueName,
  ref,
  TIME_EXAMPLE,
  text,
  time,
} from './common.ts';
import { Backoff, DEFAULT_BACKOFF, maxAttempts } from './job.ts';

/** Equal to the defaults of the table's columns, which apply to a queue that was never configured. */
export const DEFAULT_CONFIG: Omit<Config, keyof QueueLimits | 'dead_letter_queue'> = {
  lease_seconds: 30,
  max_attempts: 5,
  backoff: DEFAULT_BACKOFF,
  retention_seconds: 0,
  dead_retention_seconds: 14 * 86_400,
  alert_after_seconds: 300,
  group_concurrency: 1,
  group_batches: 1,
};

/** What a queue that was never configured has not. */
export const NOT_SET: Omit<Config, keyof typeof DEFAULT_CONFIG> = {
  max_leased: null,
  rate_limit: null,
  max_ready: null,
  dead_letter_queue: null,
};

export const RateLimit = Type.Object(
  {
    jobs: Type.Integer({ minimum: 1, maximum: 1_000_000_000, description: 'How many jobs may be claimed.' }),
    per_seconds: decimal({
      minimum: 0.1,
      maximum: LONGEST_SECONDS,
      description: 'The length of the window.',
    }),
  },
  {
    $id: 'RateLimit',
    additionalProperties: false,
    description:
      'In no window of that length are more jobs claimed, over all replicas. A job that comes back counts again.',
    examples: [{ jobs: 100, per_seconds: 60 }],
  },
);

export const QueueConfig = Type.Object(
  {
    lease_seconds: Type.Optional(
      leaseSeconds({
        description: `The lease (visibility timeout) of a claim that names none. Default: ${DEFAULT_CONFIG.lease_seconds}.`,
      }),
    ),
    max_attempts: Type.Optional(
      maxAttempts({
        description: `The max_attempts of a job that names none. Default: ${DEFAULT_CONFIG.max_attempts}.`,
      }),
    ),
    backoff: Type.Optional(ref(Backoff)),
    retention_seconds: Type.Optional(
      delaySeconds('How long completed and cancelled jobs stay visible. Default: 0, not at all.'),
    ),
    dead_retention_seconds: Type.Optional(
      delaySeconds('How long dead jobs are kept for redrive. Default: 1209600, 14 days.'),
    ),
    alert_after_seconds: Type.Optional(
      decimal({
        minimum: 1,
        maximum: LONGEST_SECONDS,
        description: `A job that has been ready for longer is an alert: the workers do not keep up, or nobody claims. Nothing is done to the job. Default: ${DEFAULT_CONFIG.alert_after_seconds}.`,
      }),
    ),
    max_leased: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 100_000,
        description:
          'The concurrency limit: how many jobs may be leased at once, over all replicas. A lease counts until it is settled or rescued. Default: no limit.',
      }),
    ),
    rate_limit: Type.Optional(ref(RateLimit)),
    max_ready: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 1_000_000,
        description:
          'With so many ready and blocked jobs, enqueues are refused (429 `queue_full`). Default: no limit.',
      }),
    ),
    dead_letter_queue: Type.Optional(
      Type.Unsafe<string>({
        ...ref(QueueName),
        description:
          'A job of this queue that becomes dead goes there as a new job, with all of its attempts, in the same commit. It is created when there is none. Its headers get `dibs-dead-from` and `dibs-dead-error`. It must not lead back to this queue, and is in the same database; 409 `queue_elsewhere` for one that is not. Default: dead jobs stay.',
      }),
    ),
    group_concurrency: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 1000,
        description:
          'How many jobs of one `group` may run at once, over all replicas. They begin in the order in which they came. A job that rests before its next attempt is one of them. When it is lowered, no further job of a group begins while more than that run. Default: 1.',
      }),
    ),
    group_batches: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 1000,
        description:
          'How many jobs of one `group` a claim may get, in their order. It gets no more than may run at once: see `group_concurrency`. Default: 1.',
      }),
    ),
    database: Type.Optional(
      Type.Unsafe<string>({
        ...ref(DatabaseName),
        description:
          'In which database a new queue is, where there are several; 409 `queue_elsewhere` for a queue that is in another. Default: where its dead letter queue is, else where queues with the same first part of the name are, else the one with the fewest queues. A queue tells it beside its `config`.',
      }),
    ),
  },
  {
    $id: 'QueueConfig',
    additionalProperties: false,
    description: 'What is left out takes its default; a limit that is left out is none.',
    examples: [{ lease_seconds: 60, max_attempts: 10, retention_seconds: 3600 }],
  },
);

export const QueueCounts = Type.Object(
  Object.fromEntries(
    JOB_STATES.map((state) => [state, Type.Integer({ description: `Jobs that are ${state}.` })]),
  ) as Record<JobState, ReturnType<typeof Type.Integer>>,
  {
    $id: 'QueueCounts',
    description:
      'Jobs by state, as they are now: of a queue of up to 100,000 jobs that is asked for alone, and of the smallest queues of a page, up to 10,000 jobs together. The counts of larger ones are up to 20 times as old as counting them takes. On the first request, they may be those of the metrics, up to a minute old.',
  },
);

const QUEUE_EXAMPLE = {
  name: 'mail.welcome',
  paused: false,
  config: DEFAULT_CONFIG,
  counts: { scheduled: 0, ready: 1, blocked: 0, leased: 0, completed: 0, cancelled: 0, dead: 0 },
  oldest_ready_age_seconds: 4.2,
  created_at: TIME_EXAMPLE,
};

export const Queue = Type.Object(
  {
    name: ref(QueueName),
    paused: Type.Boolean({ description: 'It accepts jobs, but claims get none.' }),
    config: ref(QueueConfig),
    counts: ref(QueueCounts),
    oldest_ready_age_seconds: nullable<number>('number', {
      format: 'double',
      description: 'How long the longest waiting ready job has been ready; null when there is none.',
    }),
    created_at: time('When it was created.'),
    database: Type.Optional(ref(DatabaseName)),
    paused_groups: Type.Optional(
      Type.Array(Type.String(), {
        maxItems: 1000,
        description: 'The groups that are paused. It is left out where there are none, and in lists.',
      }),
    ),
  },
  {
    $id: 'Queue',
    description:
      'A queue, its configuration and how many jobs it has. `database` tells where it is; it is left out where there is one.',
    examples: [QUEUE_EXAMPLE],
  },
);

export const QueuePage = Type.Object(
  {
    queues: Type.Array(ref(Queue), { description: 'The queues.' }),
    ...nextCursor,
    ...partlyAway,
  },
  {
    $id: 'QueuePage',
    description: 'A page of queues.',
    examples: [{ queues: [QUEUE_EXAMPLE], next_cursor: null }],
  },
);

export const GroupStatus = Type.Object(
  {
    queue: ref(QueueName),
    group: Type.String({ description: 'The name of the group.' }),
    paused: Type.Boolean({ description: 'It accepts jobs, but claims get none.' }),
  },
  {
    $id: 'GroupStatus',
    description: 'A group of a queue.',
    examples: [{ queue: 'mail.welcome', group: 'customer-17', paused: true }],
  },
);

/** A leased job is its worker's. */
const PURGEABLE = JOB_STATES.filter((state) => state !== 'leased');

export const PurgeRequest = Type.Object(
  {
    states: Type.Array(oneOf(PURGEABLE), {
      minItems: 1,
      maxItems: PURGEABLE.length,
      description: 'Jobs in which states to delete.',
    }),
  },
  {
    $id: 'PurgeRequest',
    description: 'Which jobs to delete.',
    additionalProperties: false,
    examples: [{ states: ['cancelled'] }],
  },
);

export const RedriveRequest = Type.Object(
  {
    limit: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 2_147_483_647,
        description: 'At most this many, oldest first. Default: all.',
      }),
    ),
    error_contains: Type.Optional(
      text(1024, { description: 'Only those whose `last_error` contains this.' }),
    ),
    home: Type.Optional(
      Type.Boolean({
        description:
          'In place of dead jobs, the dead letters of this queue that nobody works on: each goes back to the queue from which it came, if that has this `dead_letter_queue` now. `error_contains` looks at the header `dibs-dead-error`. Default: false.',
      }),
    ),
  },
  {
    $id: 'RedriveRequest',
    description: 'Which dead jobs to make ready again.',
    additionalProperties: false,
    examples: [{ limit: 100 }],
  },
);

export const Count = Type.Object(
  { count: Type.Integer({ description: 'How many jobs.' }) },
  { $id: 'Count', description: 'How many jobs were changed.', examples: [{ count: 3 }] },
);
