import { Type } from 'typebox';
import { EXPLAIN_CODES } from '../../src/verbs/jobs.ts';
import { QUEUE_EXPLAIN_CODES } from '../../src/verbs/queues.ts';
import {
  JobStateName,
  nullable,
  nullableTime,
  oneOf,
  partlyAway,
  QueueName,
  ref,
  TIME_EXAMPLE,
  time,
} from './common.ts';

const code = oneOf(EXPLAIN_CODES, {
  description:
    'Why a job is not running. `next_in_line`: it can be claimed, `ahead` others go before it. `delayed`: until its ' +
    '`run_at`, or on its way to another database. `backing_off`: after a failed attempt. `behind_in_group`: others of its ' +
    'group go before it. `group_paused`: its group waits for a resume. `queue_paused`, `max_leased_reached`, `rate_limited`: claims get none of the queue. `leased`: it is ' +
    'running. `dead`, `completed`, `cancelled`: it is finished.',
});

const ID = '019aa5b2-7c1e-7a3f-9d2c-4b1e5f00000';

export const Explanation = Type.Object(
  {
    id: Type.String({ description: 'The id of the job.' }),
    state: ref(JobStateName),
    code,
    detail: Type.String({ description: 'The reason in words.' }),
    ahead: Type.Optional(
      Type.Integer({
        description:
          'How many jobs go before it, in its queue or in its group. Counted up to 10,000, and of up to 1,000 other fairness keys; `detail` says so.',
      }),
    ),
    until: Type.Optional(time('When the reason is over, as far as can be told.')),
    blocking_job_id: Type.Optional(Type.String({ description: 'The job that is the head of its group.' })),
    worker: Type.Optional(Type.String({ description: 'The `worker` of the claim that leased it.' })),
    last_error: Type.Optional(Type.String({ description: 'The error of its last failure.' })),
  },
  {
    $id: 'Explanation',
    description: 'The one reason why a job is not running.',
    examples: [
      {
        id: `${ID}2`,
        state: 'blocked',
        code: 'behind_in_group',
        detail: `In its group "customer-42", 1 job goes before it. Job ${ID}1 is the head of the group and is with a worker.`,
        ahead: 1,
        blocking_job_id: `${ID}1`,
      },
      {
        id: `${ID}3`,
        state: 'scheduled',
        code: 'delayed',
        detail: `It is delayed until ${TIME_EXAMPLE}.`,
        until: TIME_EXAMPLE,
      },
    ],
  },
);

const queueCode = oneOf(QUEUE_EXPLAIN_CODES, {
  description:
    'What a claim would get. `ready`: a job. With every other code it gets nothing. `empty`: the queue has no unfinished job. ' +
    '`paused`: the queue is paused. `max_leased_reached`, `rate_limited`: a job is ready, and a limit of the queue keeps it ' +
    'back. `all_leased`: every unfinished job is with a worker. `all_delayed`: the next job is scheduled. `all_blocked`: ' +
    'every waiting job is behind another job of its group.',
});

export const QueueExplanation = Type.Object(
  {
    queue: ref(QueueName),
    code: queueCode,
    detail: Type.String({ description: 'The reason in words.' }),
    until: Type.Optional(time('When the reason is over, as far as can be told.')),
    job_id: Type.Optional(
      Type.String({
        description:
          'The job that the reason is about: the next one to be claimed, the first one to be ready, a blocked one, or the ' +
          'one whose lease runs out first. Left out where fairness keys take turns.',
      }),
    ),
  },
  {
    $id: 'QueueExplanation',
    description: 'What a claim from a queue would get now, and if nothing, why.',
    examples: [
      {
        queue: 'mail.welcome',
        code: 'all_delayed',
        detail: `No job is ready. The first of the scheduled jobs is ready at ${TIME_EXAMPLE}.`,
        until: TIME_EXAMPLE,
        job_id: `${ID}4`,
      },
    ],
  },
);

export const QueueError = Type.Object(
  {
    error: nullable<string>('string', {
      description:
        'The first line of `last_error`, with a `#` for each number and id. Null: the jobs have no error.',
    }),
    count: Type.Integer({ description: 'How many of the jobs that were looked at.' }),
    error_contains: nullable<string>('string', {
      description:
        'Finds these jobs in `GET /jobs` and `POST /operations`. Where errors are alike, other jobs may have it, too: ' +
        'count first (`dry_run`). Null: no text finds them.',
    }),
    newest_job_id: Type.String({ description: 'The newest of these jobs.' }),
    first_at: time('When the first of them became dead.'),
    last_at: time('When the last of them became dead.'),
  },
  { $id: 'QueueError', description: 'Why some jobs are dead.' },
);

export const QueueErrors = Type.Object(
  {
    queue: ref(QueueName),
    looked_at: Type.Integer({ description: 'How many dead jobs were looked at, the newest ones.' }),
    complete: Type.Boolean({ description: 'All dead jobs were looked at, and all their errors are here.' }),
    errors: Type.Array(ref(QueueError), { description: 'Those of most jobs first.' }),
  },
  {
    $id: 'QueueErrors',
    description: 'Why jobs of a queue are dead.',
    examples: [
      {
        queue: 'mail.welcome',
        looked_at: 120,
        complete: true,
        errors: [
          {
            error: 'SMTP # from #.#.#.#',
            count: 117,
            error_contains: ' from ',
            newest_job_id: `${ID}4`,
            first_at: TIME_EXAMPLE,
            last_at: TIME_EXAMPLE,
          },
        ],
      },
    ],
  },
);

export const WorkerNow = Type.Object(
  {
    worker: nullable<string>('string', { description: 'Its name. Null: all those that gave none.' }),
    leased: Type.Integer({ description: 'How many jobs it has.' }),
    queues: Type.Array(ref(QueueName), { description: 'Their queues.' }),
    since: nullableTime('When the oldest of its leases began.'),
    next_lease_expires_at: time('When the first of its leases runs out.'),
  },
  { $id: 'WorkerNow', description: 'A worker with jobs.' },
);

export const Workers = Type.Object(
  {
    workers: Type.Array(ref(WorkerNow), { description: 'Those with most leases first.' }),
    total: Type.Integer({ description: 'How many there are.' }),
    complete: Type.Boolean({ description: 'All leases were looked at.' }),
    ...partlyAway,
  },
  {
    $id: 'Workers',
    description: 'Who works now.',
    examples: [
      {
        workers: [
          {
            worker: 'host-1:4711',
            leased: 3,
            queues: ['mail.welcome'],
            since: TIME_EXAMPLE,
            next_lease_expires_at: TIME_EXAMPLE,
          },
        ],
        total: 1,
        complete: true,
      },
    ],
  },
);
