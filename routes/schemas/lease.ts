import { Type } from 'typebox';
import {
  anyJson,
  decimal,
  delaySeconds,
  JobStateName,
  leaseSeconds,
  MAX_WAIT_SECONDS,
  NO_NUL,
  Problem,
  QueueName,
  ref,
  text,
  time,
} from './common.ts';
import { Job, JobSpec, LeasedJob, PayloadFormatName } from './job.ts';

const TOKEN = '6f1d2c3b-4a59-4876-8e1d-0c9b8a7f6e5d';
const ID = '019aa5b2-7c1e-7a3f-9d2c-4b1e5f000001';

export const ClaimRequest = Type.Object(
  {
    queues: Type.Optional(
      Type.Array(ref(QueueName), {
        minItems: 1,
        maxItems: 16,
        description: 'Where to look; earlier names first. Default: `["default"]`.',
      }),
    ),
    limit: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 1000, description: 'At most this many jobs. Default: 1.' }),
    ),
    lease_seconds: Type.Optional(
      leaseSeconds({ description: "How long the leases run (visibility timeout). Default: the queue's." }),
    ),
    wait_seconds: Type.Optional(
      decimal({
        minimum: 0,
        maximum: MAX_WAIT_SECONDS,
        description:
          'How long to wait for a first job when there is none; the timeout of the client must be longer. Default: 0.',
      }),
    ),
    worker: Type.Optional(text(256, { description: 'The name of the worker, shown with the job.' })),
    claim_id: Type.Optional(
      text(256, {
        description:
          'A name for this claim, new for each one. A repeat with the same name gets the same leases while any of them lasts, so a lost answer loses no job. While the first request still waits, a repeat replaces it.',
      }),
    ),
    session: Type.Optional(
      text(64, {
        description:
          'A session that you hold (`POST /sessions`). The leases end with it, when its connection is lost. Default: none.',
      }),
    ),
    payload_format: Type.Optional(ref(PayloadFormatName)),
  },
  {
    $id: 'ClaimRequest',
    description: 'Which jobs to lease, how many, and for how long.',
    additionalProperties: false,
    examples: [{ queues: ['mail.welcome'], limit: 10, lease_seconds: 60, worker: 'mailer-1' }],
  },
);

const leaseToken = Type.String({ description: 'The `lease_token` from the claim.', examples: [TOKEN] });
const id = Type.String({ description: 'The id of the job.', examples: [ID] });

const enqueue = (description: string) =>
  Type.Optional(Type.Array(ref(JobSpec), { maxItems: 1000, description }));

const ack = {
  lease_token: leaseToken,
  result: Type.Optional(
    anyJson("The result of the job, up to 64 KiB. It is kept while the queue's `retention_seconds` last."),
  ),
  enqueue: enqueue('Jobs that follow, inserted if and only if the ack counts.'),
};
const nack = {
  lease_token: leaseToken,
  error: Type.Optional(
    Type.String({
      pattern: NO_NUL,
      description: 'What went wrong; its first 16 KiB are kept as `last_error`.',
    }),
  ),
  delay_seconds: Type.Optional(delaySeconds('The delay before the retry. Default: by its backoff.')),
  retry: Type.Optional(
    Type.Boolean({
      description: 'false: the job is dead at once, whatever attempts are left. Default: true.',
    }),
  ),
  enqueue: enqueue('Jobs that compensate for this one, inserted if and only if this nack makes it dead.'),
};
const release = {
  lease_token: leaseToken,
  delay_seconds: Type.Optional(delaySeconds('How long from now the job becomes ready again. Default: 0.')),
};
const extend = {
  lease_token: leaseToken,
  lease_seconds: leaseSeconds({ description: 'The lease runs this long from now.' }),
  progress: Type.Optional(anyJson('The progress of the work, shown with the job; up to 64 KiB.')),
};

const closed = ($id: string, description: string, example: object) => ({
  $id,
  description,
  additionalProperties: false,
  examples: [example],
});

export const AckRequest = Type.Object(
  ack,
  closed('AckRequest', 'The job is done.', {
    lease_token: TOKEN,
    result: { pages: 12 },
    enqueue: [{ queue: 'mail.receipt', payload: { order: 1815 } }],
  }),
);
export const NackRequest = Type.Object(
  nack,
  closed('NackRequest', 'The job failed.', { lease_token: TOKEN, error: 'SMTP 421: try again later' }),
);
export const ReleaseRequest = Type.Object(
  release,
  closed('ReleaseRequest', 'The job is given back unworked.', { lease_token: TOKEN }),
);
export const ExtendRequest = Type.Object(
  extend,
  closed('ExtendRequest', 'The work takes longer.', {
    lease_token: TOKEN,
    lease_seconds: 60,
    progress: { done: 40, of: 100 },
  }),
);

export const AckItem = Type.Object(
  { id, ...ack },
  closed('AckItem', 'One of many acks.', { id: ID, lease_token: TOKEN }),
);
export const NackItem = Type.Object(
  { id, ...nack },
  closed('NackItem', 'One of many nacks.', { id: ID, lease_token: TOKEN }),
);
export const ReleaseItem = Type.Object(
  { id, ...release },
  closed('ReleaseItem', 'One of many releases.', { id: ID, lease_token: TOKEN }),
);
export const ExtendItem = Type.Object(
  { id, ...extend },
  closed('ExtendItem', 'One of many extends.', { id: ID, lease_token: TOKEN, lease_seconds: 60 }),
);

const items = <S extends Parameters<typeof ref>[0]>(item: S, description: string) =>
  Type.Optional(Type.Array(ref(item), { maxItems: 1000, description }));

export const SettleRequest = Type.Object(
  {
    acks: items(AckItem, 'Jobs that are done.'),
    nacks: items(NackItem, 'Jobs that failed.'),
    releases: items(ReleaseItem, 'Jobs to give back unworked.'),
    extends: items(ExtendItem, 'Leases to extend.'),
    claim: Type.Optional(ref(ClaimRequest)),
  },
  closed(
    'SettleRequest',
    'Up to 1000 items in all, each the body of the single call plus `id`. With `claim`, the answer also has the next jobs.',
    {
      acks: [{ id: ID, lease_token: TOKEN }],
      claim: { queues: ['mail.welcome'], limit: 1 },
    },
  ),
);

export const Acked = Type.Object(
  {
    id,
    state: ref(JobStateName),
    enqueued: Type.Array(ref(Job), { description: 'The jobs inserted with the ack.' }),
  },
  {
    $id: 'Acked',
    description: 'The result of an ack.',
    examples: [{ id: ID, state: 'completed', enqueued: [] }],
  },
);

export const Extended = Type.Object(
  {
    id,
    state: ref(JobStateName),
    lease_expires_at: time('When the lease runs out now.'),
    cancel_requested: Type.Boolean({
      description: 'Somebody has cancelled the job. The worker should stop.',
    }),
  },
  {
    $id: 'Extended',
    description: 'The result of an extend.',
    examples: [
      { id: ID, state: 'leased', lease_expires_at: '2026-11-21T09:31:00.000Z', cancel_requested: false },
    ],
  },
);

export const SettleResult = Type.Object(
  {
    id,
    status: Type.Integer({ description: "The single call's HTTP status." }),
    state: Type.Optional(ref(JobStateName)),
    run_at: Type.Optional(time('With a nack or a release: when the job becomes ready again.')),
    lease_expires_at: Type.Optional(time('With an extend: when the lease runs out now.')),
    cancel_requested: Type.Optional(
      Type.Boolean({
        description: 'With an extend: somebody has cancelled the job. The worker should stop.',
      }),
    ),
    enqueued: Type.Optional(
      Type.Array(ref(Job), {
        description: 'With an ack, and with a nack that had `enqueue`: the jobs inserted with it.',
      }),
    ),
    problem: Type.Optional(ref(Problem)),
  },
  {
    $id: 'SettleResult',
    description:
      'The result of one item. The `code` of its `problem` is one with which the single call is refused.',
  },
);

const results = (description: string) => Type.Array(ref(SettleResult), { description });
export const SettleResults = Type.Object(
  {
    acks: results('Of `acks`.'),
    nacks: results('Of `nacks`.'),
    releases: results('Of `releases`.'),
    extends: results('Of `extends`.'),
    jobs: Type.Optional(
      Type.Array(ref(LeasedJob), {
        description: 'With `claim`: the jobs that it leased; empty when there is none.',
      }),
    ),
    problem: Type.Optional(ref(Problem)),
  },
  {
    $id: 'SettleResults',
    description:
      'One result per item, in the order of the request. `problem` says why the claim was refused, after the items were settled.',
    examples: [
      {
        acks: [{ id: ID, status: 200, state: 'completed', enqueued: [] }],
        nacks: [],
        releases: [],
        extends: [],
      },
    ],
  },
);
