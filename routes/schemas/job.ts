import { Type } from 'typebox';
import { LONGEST_SECONDS, MOST_HEADERS } from '../../src/job.ts';
import type { Backoff as BackoffType } from '../../src/verbs/queues.ts';
import {
  anyJson,
  decimal,
  delaySeconds,
  JobStateName,
  NO_NUL,
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

export const JobHeaders = Type.Unsafe<Record<string, string>>({
  $id: 'JobHeaders',
  type: 'object',
  maxProperties: MOST_HEADERS,
  propertyNames: { type: 'string', maxLength: 128, pattern: NO_NUL },
  additionalProperties: { type: 'string', maxLength: 1024, pattern: NO_NUL },
  description:
    'Short strings for metadata, handed to the worker as they are: up to 32. A job that is enqueued without a `traceparent` gets ' +
    'that of its request, if it has one.',
  examples: [{ traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01' }],
});

export const DEFAULT_BACKOFF: BackoffType = {
  kind: 'exponential',
  base_seconds: 1,
  max_seconds: 3600,
  jitter: 0.2,
};

export const BackoffKind = oneOf(['exponential', 'linear', 'constant'], {
  $id: 'BackoffKind',
  description: 'How the delay after the n-th failed attempt grows: base × 2^(n-1), base × n, or always base.',
});

export const Backoff = Type.Object(
  {
    kind: Type.Optional(ref(BackoffKind)),
    base_seconds: Type.Optional(delaySeconds(`The first delay. Default: ${DEFAULT_BACKOFF.base_seconds}.`)),
    max_seconds: Type.Optional(delaySeconds(`The longest delay. Default: ${DEFAULT_BACKOFF.max_seconds}.`)),
    jitter: Type.Optional(
      decimal({
        minimum: 0,
        maximum: 1,
        description: `A delay is shortened by a random share of up to this. Default: ${DEFAULT_BACKOFF.jitter}.`,
      }),
    ),
  },
  {
    $id: 'Backoff',
    additionalProperties: false,
    description:
      'The delay before a job is retried. What is left out takes its default: `exponential`, from 1 s to ' +
      '1 h, jitter 0.2.',
    examples: [{ kind: 'linear', base_seconds: 30 }],
  },
);

export const maxAttempts = (options: object) => Type.Integer({ minimum: 1, maximum: 1000, ...options });

export const OnDuplicate = oneOf(['keep', 'replace'], {
  $id: 'OnDuplicate',
  description:
    '`replace`: a job that has the `unique_key` and waits gets the `payload`, `headers`, `priority`, time, ' +
    '`expires_in_seconds` and `max_attempts` of this one, and keeps its id. One that is leased stays as it is. `keep`: it ' +
    'stays as it is. Only with a `unique_key`. Default: `keep`.',
});

export const UniqueUntil = oneOf(['finished', 'claimed'], {
  $id: 'UniqueUntil',
  description:
    'How long a job holds its `unique_key`. `claimed`: a claim frees it, and `unique_key` is null then. A job that comes back holds it again ' +
    'within a second, unless another job has taken it: then it stays without. Only with a `unique_key`. Default: `finished`.',
});

export const JobSpec = Type.Object(
  {
    queue: Type.Optional(ref(QueueName)),
    payload: Type.Optional(
      anyJson('Any JSON value; comes back exactly as it was sent, byte for byte. Default: null.'),
    ),
    headers: Type.Optional(ref(JobHeaders)),
    priority: Type.Optional(
      Type.Integer({ minimum: -100, maximum: 100, description: 'Higher first. Default: 0.' }),
    ),
    delay_seconds: Type.Optional(
      delaySeconds('How long from now the job becomes ready; not beside `run_at`. Default: 0.'),
    ),
    run_at: Type.Optional(
      Type.String({
        format: 'date-time',
        description:
          'When the job becomes ready (RFC 3339, with an offset), within 366 days; the past means now.',
        examples: [TIME_EXAMPLE],
      }),
    ),
    max_attempts: Type.Optional(
      maxAttempts({ description: "How many attempts it has. Default: the queue's." }),
    ),
    backoff: Type.Optional(ref(Backoff)),
    fairness_key: Type.Optional(
      text(256, {
        description:
          'Its tenant or the like: within one priority, the keys of a queue take turns; jobs without one count as one key more. Default: none.',
        examples: ['tenant-17'],
      }),
    ),
    unique_key: Type.Optional(
      text(256, {
        description:
          'At most one unfinished job in the queue has this key. While a job has it, an enqueue is answered with that job and `deduplicated`, and adds nothing.',
      }),
    ),
    unique_for_seconds: Type.Optional(
      delaySeconds(
        'How long the key also stays taken after the enqueue, finished or not; only with a `unique_key`. Default: 0.',
      ),
    ),
    on_duplicate: Type.Optional(ref(OnDuplicate)),
    unique_until: Type.Optional(ref(UniqueUntil)),
    group: Type.Optional(
      text(256, {
        description:
          'Jobs of one group in one queue run in order of arrival, one at a time: the next one can be claimed when the one before it is completed, dead or cancelled. Default: none.',
        examples: ['customer-42'],
      }),
    ),
    batch: Type.Optional(
      text(36, {
        description:
          'The id of the batch that it belongs to. The batch is open, or the job is added by the ack or nack of one of its jobs. A job that is `deduplicated` joins no batch. Not in schedules.',
      }),
    ),
    expires_in_seconds: Type.Optional(
      decimal({
        exclusiveMinimum: 0,
        maximum: LONGEST_SECONDS,
        description:
          'How long from now it may be claimed, a delay included. One that waits then becomes `dead` with `last_error` ' +
          '"expired". Default: for ever.',
      }),
    ),
  },
  {
    $id: 'JobSpec',
    additionalProperties: false,
    description: 'A job to enqueue. `queue` is `default` when left out.',
    examples: [{ queue: 'mail.welcome', payload: { to: 'ada@example.com' }, priority: 5, max_attempts: 3 }],
  },
);

export const JobChange = Type.Object(
  {
    payload: Type.Optional(anyJson('Any JSON value, in place of the one before.')),
    headers: Type.Optional(ref(JobHeaders)),
    priority: Type.Optional(Type.Integer({ minimum: -100, maximum: 100, description: 'Higher first.' })),
    run_at: Type.Optional(
      Type.String({
        format: 'date-time',
        description:
          'When the job becomes ready (RFC 3339, with an offset), within 366 days; the past means now. It changes nothing of ' +
          'a dead job, which waits to be retried.',
        examples: [TIME_EXAMPLE],
      }),
    ),
    max_attempts: Type.Optional(
      maxAttempts({
        description: 'How many attempts it has; more than a waiting job has had so far.',
      }),
    ),
    expires_in_seconds: Type.Optional(
      decimal({
        exclusiveMinimum: 0,
        maximum: LONGEST_SECONDS,
        description: 'It expires if nobody claims it within this time.',
      }),
    ),
  },
  {
    $id: 'JobChange',
    additionalProperties: false,
    minProperties: 1,
    description: 'What to change of a job. What is left out stays as it is.',
    examples: [{ payload: { to: 'ada@example.com' }, priority: 9 }],
  },
);

export const JobSpecList = Type.Object(
  { jobs: Type.Array(ref(JobSpec), { minItems: 1, maxItems: 1000, description: 'The jobs to enqueue.' }) },
  {
    $id: 'JobSpecList',
    additionalProperties: false,
    description: '1 to 1000 jobs, enqueued all or none.',
    examples: [
      {
        jobs: [
          { queue: 'thumbnails', payload: 1 },
          { queue: 'thumbnails', payload: 2 },
        ],
      },
    ],
  },
);

const PAYLOAD_FORMATS = ['json', 'text'] as const;
export type PayloadFormat = (typeof PAYLOAD_FORMATS)[number];

export const PayloadFormatName = oneOf(PAYLOAD_FORMATS, {
  $id: 'PayloadFormat',
  description:
    '`json`: each payload as it was sent, in `payload`. `text`: its JSON text as a string, in `payload_text`. A client ' +
    'then decodes each payload by itself: one that it cannot read does not keep it from the others. Default: `json`.',
});

const payloadText = Type.Optional(
  Type.String({
    description: 'The JSON text of the payload, in place of `payload`: with `payload_format` `text`.',
  }),
);

/** The fields of a job, in the order in which answers have them. */
export const jobProperties = {
  id: Type.String({ description: 'Opaque; ids of later jobs sort higher.' }),
  queue: ref(QueueName),
  state: ref(JobStateName),
  headers: ref(JobHeaders),
  priority: Type.Integer({ description: 'Higher first, from -100 to 100.' }),
  attempt: Type.Integer({ description: 'How many attempts are charged: claims, less releases.' }),
  max_attempts: Type.Integer({ description: 'How many attempts it has before it is dead.' }),
  deliveries: Type.Integer({
    description:
      'How many leases the job has had. It only grows, and so serves as a fencing token in the writes of a worker.',
  }),
  group: nullable<string>('string', {
    description: 'Its jobs go one at a time, in order of arrival.',
  }),
  fairness_key: nullable<string>('string', {
    description: 'Within one priority, the keys of a queue take turns.',
  }),
  unique_key: nullable<string>('string', {
    description: 'No other unfinished job in the queue has it.',
  }),
  batch: nullable<string>('string', { description: 'The id of the batch that it belongs to.' }),
  run_at: time('When the job becomes ready, or became so last.'),
  created_at: time('When it was enqueued.'),
  lease_expires_at: nullableTime('When the lease runs out, unless it is settled or extended before.'),
  worker: nullable<string>('string', {
    description: 'Who has it, or completed it: the `worker` of the claim.',
  }),
  last_error: nullable<string>('string', { description: 'The error of its last failure; 16 KiB at most.' }),
  progress: anyJson('What its worker last reported by `extend`.'),
  result: anyJson('What its worker returned by `ack`.'),
  finished_at: nullableTime('When it was completed or cancelled, or became dead.'),
};

const JOB_EXAMPLE = {
  id: '019aa5b2-7c1e-7a3f-9d2c-4b1e5f000001',
  queue: 'mail.welcome',
  state: 'ready',
  headers: {},
  priority: 5,
  attempt: 0,
  max_attempts: 3,
  deliveries: 0,
  group: null,
  fairness_key: null,
  unique_key: null,
  batch: null,
  run_at: TIME_EXAMPLE,
  created_at: TIME_EXAMPLE,
  lease_expires_at: null,
  worker: null,
  last_error: null,
  progress: null,
  result: null,
  finished_at: null,
};

export const Job = Type.Object(
  {
    ...jobProperties,
    payload: Type.Optional(
      anyJson('As it was sent; in `GET /jobs/{id}`, and in lists with `include=payload`.'),
    ),
    payload_text: payloadText,
    payload_preview: Type.Optional(
      Type.String({
        description:
          'The beginning of the JSON text of the payload; in lists with `include=payload_preview`.',
      }),
    ),
    enqueued: Type.Optional(
      Type.Unsafe<object[]>({
        type: 'array',
        items: { $ref: 'Job#' },
        description:
          'After a nack that had `enqueue`: the jobs inserted with it; none unless it made the job dead.',
      }),
    ),
    moved_to: Type.Optional(
      Type.String({
        description:
          'The id of the job as which it went to the `dead_letter_queue` of its queue, when it was dead. This one is `cancelled` then.',
      }),
    ),
    deduplicated: Type.Optional(
      Type.Boolean({
        description:
          'In the answer of an enqueue: this job has the `unique_key` already, and nothing was enqueued. Once it is gone, ' +
          'while its window runs, it is shown as it was enqueued, but `completed`.',
      }),
    ),
    replaced: Type.Optional(
      Type.Boolean({
        description:
          'Beside `deduplicated`, when the enqueue said `on_duplicate` `replace`: whether this job waits, and is now as the enqueue asked. False: it is leased, or finished.',
      }),
    ),
  },
  { $id: 'Job', description: 'A job and its state.', examples: [JOB_EXAMPLE] },
);

const LEASED_EXAMPLE = {
  ...JOB_EXAMPLE,
  state: 'leased',
  attempt: 1,
  deliveries: 1,
  lease_expires_at: '2026-11-21T09:30:30.000Z',
  worker: 'mailer-1',
  payload: { to: 'ada@example.com' },
  lease_token: '6f1d2c3b-4a59-4876-8e1d-0c9b8a7f6e5d',
  lease_seconds: 30,
};

export const LeasedJob = Type.Object(
  {
    ...jobProperties,
    payload: Type.Optional(
      anyJson('As it was sent, byte for byte. Only `payload_format` `text` leaves it out.'),
    ),
    payload_text: payloadText,
    lease_expires_at: time('When the lease runs out, unless settled or extended before.'),
    lease_token: Type.String({
      description: 'Proves this lease: acks, nacks, releases and extends need it.',
    }),
    lease_seconds: decimal({
      description:
        'How long the claim gave the lease for. A repeat with the same `claim_id` is told the same, whatever it asks for, ' +
        'though some of that time is over. A worker needs no clock of its own.',
    }),
  },
  { $id: 'LeasedJob', description: 'A job with its lease.', examples: [LEASED_EXAMPLE] },
);

export const JobList = Type.Object(
  { jobs: Type.Array(ref(Job), { description: 'The jobs.' }) },
  { $id: 'JobList', description: 'Jobs, in the order of the request.', examples: [{ jobs: [JOB_EXAMPLE] }] },
);

export const JobPage = Type.Object(
  {
    jobs: Type.Array(ref(Job), { description: 'The jobs.' }),
    ...nextCursor,
    looked_at: Type.Optional(
      Type.Integer({ description: 'In a search of one queue: how many jobs this request looked at.' }),
    ),
    looked_to: Type.Optional(nullableTime('In a search of one queue: when the last of these was enqueued.')),
    ...partlyAway,
  },
  { $id: 'JobPage', description: 'A page of jobs.', examples: [{ jobs: [JOB_EXAMPLE], next_cursor: null }] },
);

export const LeasedJobList = Type.Object(
  { jobs: Type.Array(ref(LeasedJob), { description: 'The jobs, each with its lease.' }) },
  {
    $id: 'LeasedJobList',
    description: 'Jobs, in the order of the queue.',
    examples: [{ jobs: [LEASED_EXAMPLE] }],
  },
);
