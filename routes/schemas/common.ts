import { type Static, type TSchema, Type } from 'typebox';
import { JOB_STATES, type JobState, LONGEST_SECONDS, type RawJson } from '../../src/job.ts';
import { DATABASE_NAME } from '../../src/verbs/databases.ts';
import { isQueueName, QUEUE_NAME } from '../../src/verbs/queues.ts';

/** A reference to a named schema, with the type of that schema. */
export const ref = <S extends TSchema>(schema: S) =>
  Type.Unsafe<Static<S>>({ $ref: `${(schema as { $id?: string }).$id}#` });

export const oneOf = <const T extends string>(values: readonly T[], options: object = {}) =>
  Type.Unsafe<T>({ type: 'string', enum: values, ...options });

export const nullable = <T>(type: 'string' | 'integer' | 'number', options: object = {}) =>
  Type.Unsafe<T | null>({ type: [type, 'null'], ...options });

/**
 * Says `double`, because a bare `number` becomes 32 bits wide in Go and a BigDecimal in Java. Defaults of body fields
 * stand in descriptions only: see docs/decisions/0005-openapi-3-1.md.
 */
export const decimal = (options: object) => Type.Number({ format: 'double', ...options });

/** A text without NUL: PostgreSQL cannot store one. The engines of all languages read `\x00`; PCRE does not read `\u0000`. */
export const NO_NUL = '^[^\\x00]*$';

export const text = (maxLength: number, options: object = {}) =>
  Type.String({ minLength: 1, maxLength, pattern: NO_NUL, ...options });

export const TIME_EXAMPLE = '2026-11-21T09:30:00.000Z';
const TIME = { format: 'date-time', examples: [TIME_EXAMPLE] };
export const time = (description: string) => Type.String({ ...TIME, description });
/** A time in a query. It has no example: tools would send it. */
export const timeParameter = (description: string) => Type.String({ format: 'date-time', description });
export const nullableTime = (description: string) => nullable<string>('string', { ...TIME, description });

export const QueueName = Type.String({
  $id: 'QueueName',
  pattern: QUEUE_NAME,
  description: 'The name of a queue: 1 to 128 of `A-Z a-z 0-9 . _ : -`.',
});

export const isScheduleName = isQueueName;

export const ScheduleName = Type.String({
  $id: 'ScheduleName',
  pattern: QUEUE_NAME,
  description: 'The name of a schedule: 1 to 128 of `A-Z a-z 0-9 . _ : -`.',
});

/** How many items a page has at most, unless the request says. */
export const PAGE_LIMIT = 100;

/** The query parameters of every list. */
export const pageQuery = {
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 1000,
      default: PAGE_LIMIT,
      description: 'The page size. A page may be shorter.',
    }),
  ),
  cursor: Type.Optional(Type.String({ description: 'The `next_cursor` of the page before.' })),
};

export const DatabaseName = Type.String({
  $id: 'DatabaseName',
  pattern: DATABASE_NAME,
  description: 'The name of a database: `home`, or one of `DATABASE_URL_<NAME>`, in lower case.',
});

/** What leads to the next page of a list. */
export const nextCursor = {
  next_cursor: nullable<string>('string', { description: 'For the next page; null on the last.' }),
};

/** What every list that is merged of several databases may have. */
export const partlyAway = {
  away: Type.Optional(
    Type.Array(ref(DatabaseName), {
      description:
        'The databases that do not answer: this is without what they have. Left out while all answer.',
    }),
  ),
};

/** The path of routes about one queue. */
export const InQueue = Type.Object({ queue: ref(QueueName) });

export const InGroup = Type.Object({
  queue: ref(QueueName),
  group: text(256, { minLength: 1, description: 'The name of a group.' }),
});

export const JobId = Type.Object({
  id: Type.String({ description: 'The id of a job, as Dibs gave it; opaque.' }),
});

export const JobStateName = Type.Unsafe<JobState>({
  $id: 'JobState',
  type: 'string',
  enum: JOB_STATES,
  description:
    '`scheduled`: `run_at` is in the future. `ready`: can be claimed. `blocked`: waits for the job before it in its ' +
    'group. `leased`: with a worker until `lease_expires_at`. `completed`, `cancelled`: finished, visible while the ' +
    "queue's `retention_seconds` last. `dead`: out of attempts, refused by its worker or expired, kept for redrive.",
});

export const MAX_SMALL_JSON_BYTES = 64 * 1024;

/** Any JSON value. It is kept as the text that was sent. */
export const anyJson = (description: string) => Type.Unsafe<RawJson>({ description });

export const delaySeconds = (description: string) =>
  decimal({ minimum: 0, maximum: LONGEST_SECONDS, description });

/** The longest time that a request waits: for a job to claim, or for the end of a job. */
export const MAX_WAIT_SECONDS = 60;

export const leaseSeconds = (options: object) => decimal({ minimum: 0.1, maximum: 43_200, ...options });

export const Problem = Type.Object(
  {
    type: Type.String({ description: 'A URI for the kind of problem (RFC 9457); follows `code`.' }),
    title: Type.String({ description: 'The kind of problem, in words.' }),
    status: Type.Integer({ description: 'The HTTP status.' }),
    detail: Type.String({ description: 'What was wrong this time.' }),
    code: Type.String({
      description: 'The kind of problem, for programs; stable.',
      examples: ['lease_lost'],
    }),
    errors: Type.Optional(
      Type.Array(Type.Unsafe<{ in: string; path: string; message: string }>({ $ref: 'FieldProblem#' }), {
        minItems: 1,
        description: 'With `invalid_request`: each field that is wrong.',
      }),
    ),
    outcome: Type.Optional(
      oneOf(['not_done', 'unknown'], {
        description:
          'With 503, of a call that changes something. `not_done`: nothing was changed, it is safe to repeat the call as it ' +
          'is. `unknown`: it may have been done, or may still be. Repeat it with an `Idempotency-Key` or `claim_id`, or check first.',
      }),
    ),
  },
  {
    $id: 'Problem',
    description: 'Why a request was not carried out: problem details for HTTP APIs (RFC 9457).',
  },
);

export const FieldProblem = Type.Object(
  {
    in: oneOf(['body', 'query', 'path', 'header'], {
      description: 'The part of the request.',
      'x-enum-varnames': ['InBody', 'InQuery', 'InPath', 'InHeader'],
    }),
    path: Type.String({
      description: 'A JSON pointer (RFC 6901) to the field within that part; empty for the whole.',
      examples: ['/jobs/3/priority'],
    }),
    message: Type.String({ description: 'What is wrong with it.' }),
  },
  { $id: 'FieldProblem', description: 'One field of a request, and what is wrong with it.' },
);
