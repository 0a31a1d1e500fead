import { Type } from 'typebox';
import { OPERATION_STATES, OPERATION_VERBS } from '../../src/verbs/operations.ts';
import {
  DatabaseName,
  JobStateName,
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
  timeParameter,
} from './common.ts';

/** Filters that GET /jobs and operations have in common. */
export const jobFilters = {
  group: Type.Optional(text(256, { description: 'The group that they are of.' })),
  fairness_key: Type.Optional(text(256, { description: 'Only those with this `fairness_key`.' })),
  worker: Type.Optional(text(256, { description: 'Only those that this worker has, or has completed.' })),
  error_contains: Type.Optional(
    text(1024, { description: 'Only those whose `last_error` contains this, letter by letter.' }),
  ),
  created_after: Type.Optional(timeParameter('Only those that were enqueued at this time or later.')),
  created_before: Type.Optional(timeParameter('Only those that were enqueued before this time.')),
};

export const JobFilter = Type.Object(
  {
    states: Type.Array(ref(JobStateName), {
      minItems: 1,
      maxItems: 7,
      description:
        'Jobs in which states. `cancel`: any but `completed` and `cancelled`. `retry`: `dead`, `scheduled`. `delete`: any but ' +
        '`leased`. `move`: `scheduled`, `ready`, `blocked`, `dead`.',
    }),
    ...jobFilters,
  },
  {
    $id: 'JobFilter',
    additionalProperties: false,
    description: 'Which jobs of a queue: those that match all of it.',
    examples: [{ states: ['dead'], error_contains: 'SMTP 421' }],
  },
);

const operationVerb = oneOf(OPERATION_VERBS, {
  description: 'What to do to each job, as the call for a single job does it. `move`: to the queue `to`.',
});

const operationVerbs = oneOf([...OPERATION_VERBS, 'relocate'], {
  description: 'What it does to each job. `relocate`: the whole queue goes to the database `to`.',
});

export const OperationRequest = Type.Object(
  {
    verb: operationVerb,
    queue: ref(QueueName),
    to: Type.Optional(ref(QueueName)),
    filter: ref(JobFilter),
    dry_run: Type.Optional(Type.Boolean({ description: 'Count only. Default: false.' })),
  },
  {
    $id: 'OperationRequest',
    additionalProperties: false,
    description: 'What to do to which jobs.',
    examples: [{ verb: 'retry', queue: 'mail.welcome', filter: { states: ['dead'] }, dry_run: true }],
  },
);

const EXAMPLE = {
  id: '019aa5b2-7c1e-7a3f-9d2c-4b1e5f000000',
  verb: 'retry',
  queue: 'mail.welcome',
  to: null,
  filter: { states: ['dead'], error_contains: 'SMTP 421' },
  dry_run: false,
  state: 'running',
  counted: true,
  matched: 120_000,
  done: 48_000,
  skipped: 12,
  error: null,
  hold_seconds: null,
  created_at: TIME_EXAMPLE,
  finished_at: null,
};

export const Operation = Type.Object(
  {
    id: Type.String({ description: 'Opaque. Newer operations have larger ids.' }),
    verb: operationVerbs,
    queue: ref(QueueName),
    to: nullable<string>('string', {
      description: 'The queue that a move goes to, or the database that a relocation goes to.',
    }),
    filter: ref(JobFilter),
    dry_run: Type.Boolean({ description: 'It only counts.' }),
    state: oneOf(OPERATION_STATES, {
      description:
        '`running`: it counts, and then it works. `done`. `cancelled`: stopped; what it did stays done. `failed`: see `error`.',
    }),
    counted: Type.Boolean({ description: 'It has counted all jobs that match. Until then `matched` grows.' }),
    matched: Type.Integer({ description: 'How many jobs matched at the call.' }),
    done: Type.Integer({ description: 'How many of them are done so far.' }),
    skipped: Type.Integer({
      description:
        'How many were skipped, because they had changed meanwhile, or another job has their `unique_key`, or the queue ' +
        'they should move to is full. Once `done`, it is all that matched and is not done.',
    }),
    error: nullable<string>('string', { description: 'Why it failed.' }),
    hold_seconds: nullable<number>('number', {
      format: 'double',
      description:
        'For how long calls for the queue of a relocation will wait, at most. Null until its jobs are counted, and for other verbs.',
    }),
    created_at: time('When it was started. It touches no job that came, or came back, later.'),
    finished_at: nullableTime('When it ended.'),
  },
  { $id: 'Operation', description: 'An operation on many jobs, with its progress.', examples: [EXAMPLE] },
);

export const OperationPage = Type.Object(
  {
    operations: Type.Array(ref(Operation), { description: 'The operations, newest first.' }),
    ...nextCursor,
    ...partlyAway,
  },
  {
    $id: 'OperationPage',
    description: 'A page of operations.',
    examples: [{ operations: [EXAMPLE], next_cursor: null }],
  },
);

export const RelocateRequest = Type.Object(
  {
    to: ref(DatabaseName),
    dry_run: Type.Optional(Type.Boolean({ description: 'Count only. Default: false.' })),
  },
  {
    $id: 'RelocateRequest',
    additionalProperties: false,
    description: 'The database that a queue goes to.',
    examples: [{ to: 'b' }],
  },
);
