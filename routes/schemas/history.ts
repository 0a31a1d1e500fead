import { Type } from 'typebox';
import { HISTORY_EVENTS } from '../../src/verbs/jobs.ts';
import { nullableTime, oneOf, QueueName, ref, TIME_EXAMPLE, time } from './common.ts';

export const HistoryEvent = Type.Object(
  {
    at: nullableTime('When it happened. Null for a lease of which nobody noted when it began.'),
    event: oneOf(HISTORY_EVENTS, { description: 'What happened.' }),
    batch: Type.Optional(Type.String({ description: 'The batch that it was enqueued into.' })),
    follows: Type.Optional(Type.String({ description: 'The batch whose end has enqueued it.' })),
    attempt: Type.Optional(Type.Integer({ description: 'The attempt that it was about.' })),
    deliveries: Type.Optional(Type.Integer({ description: 'The leases that were given until then.' })),
    worker: Type.Optional(Type.String({ description: 'The worker whose lease it was about.' })),
    leased_at: Type.Optional(time('When that lease began.')),
    by: Type.Optional(
      Type.String({
        description:
          'Who did it: the name of the access key or token. Left out where nobody needs one, for an `acked`, and for what Dibs does itself, ' +
          'such as `rescued`.',
      }),
    ),
    error: Type.Optional(Type.String({ description: 'The error, up to 2000 characters of it.' })),
    run_at: Type.Optional(time('When the job was to run next.')),
  },
  { $id: 'HistoryEvent', description: 'Something that happened to a job.' },
);

export const JobHistory = Type.Object(
  {
    id: Type.String({ description: 'The id of the job.' }),
    queue: ref(QueueName),
    events: Type.Array(ref(HistoryEvent), { description: 'What happened, oldest first.' }),
    truncated: Type.Boolean({ description: 'There were more than 50 events: the older ones were dropped.' }),
  },
  {
    $id: 'JobHistory',
    description: 'What happened to a job.',
    examples: [
      {
        id: '019aa5b2-7c1e-7a3f-9d2c-4b1e5f000001',
        queue: 'mail.welcome',
        events: [
          { at: TIME_EXAMPLE, event: 'enqueued' },
          {
            at: TIME_EXAMPLE,
            event: 'nacked',
            attempt: 1,
            deliveries: 1,
            worker: 'mailer-1',
            leased_at: TIME_EXAMPLE,
            by: 'mailer',
            error: 'SMTP 421',
            run_at: TIME_EXAMPLE,
          },
          { at: TIME_EXAMPLE, event: 'leased', attempt: 2, deliveries: 2, worker: 'mailer-2' },
        ],
        truncated: false,
      },
    ],
  },
);
