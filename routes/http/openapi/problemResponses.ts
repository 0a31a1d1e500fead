import {
  idempotencyKeyReused,
  invalidRequest,
  jobFinished,
  jobLeased,
  jobNotFound,
  keyNameTaken,
  keyNotFound,
  leaseLost,
  operationNotFound,
  overloaded,
  payloadTooLarge,
  queueFull,
  queueNotEmpty,
  queueNotFound,
  Refusal,
  rateLimited,
  scheduleNotFound,
  tooManyKeys,
  tooManyOperations,
  tooManyQueues,
  unauthorized,
  unavailable,
  uniqueKeyTaken,
} from '../../../src/errors.ts';
import { toProblem } from '../answers/problems.ts';

/** The statuses that an operation can refuse with, and the names of their answers in the OpenAPI document. */
const NAMES = {
  400: 'InvalidRequest',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  408: 'RequestTimeout',
  409: 'Conflict',
  413: 'PayloadTooLarge',
  415: 'UnsupportedMediaType',
  422: 'IdempotencyKeyReused',
  429: 'TooManyRequests',
  431: 'HeadersTooLarge',
  500: 'InternalError',
  503: 'Unavailable',
} as const;

export type ProblemStatus = keyof typeof NAMES;

const DESCRIPTIONS: Record<ProblemStatus, string> = {
  400: 'The request is malformed: `errors` names each field (`invalid_request`).',
  401: 'There is no access key in `Authorization`, or it is not valid (`unauthorized`).',
  403: 'The access key does not allow this; or, without keys, the request comes from a web page, or under a host name, that may not use Dibs (`forbidden`).',
  404: 'There is no such job, queue, schedule, access key or operation. `code` says which.',
  408: 'The request did not arrive in time (`request_timeout`).',
  409: 'The job, queue or access key is not in a state for this, or there are too many operations. `code` says why.',
  413: 'The body, or a value in it, is too large (`payload_too_large`): `detail` names the limit.',
  415: 'The body is not `application/json` in UTF-8, or is compressed (`unsupported_media_type`).',
  422: 'The `Idempotency-Key` was used with another body (`idempotency_key_reused`).',
  429: 'The queue is full (`queue_full`), or this access key sends too many requests, or this address too many wrong keys (`rate_limited`). Try again after `Retry-After` seconds.',
  431: 'The headers are too large (`headers_too_large`).',
  500: 'A bug in Dibs (`internal`).',
  503: 'The database does not answer (`unavailable`), or this replica holds as much as it can (`overloaded`). Try again after `Retry-After` seconds.',
};

const retryAfter = {
  'Retry-After': { schema: { type: 'integer' }, description: 'Seconds until it is worth trying again.' },
};

/** Where there is a limit, all answers have them. They are described once, so that the document stays small. */
const rateLimit = {
  'RateLimit-Limit': {
    schema: { type: 'integer' },
    description: 'The requests a second that this access key may send.',
  },
  'RateLimit-Remaining': { schema: { type: 'integer' }, description: 'How many of them are left.' },
  'RateLimit-Reset': { schema: { type: 'integer' }, description: 'Seconds until the count begins anew.' },
};

const HEADERS: { [status in ProblemStatus]?: object } = {
  429: { ...retryAfter, ...rateLimit },
  503: retryAfter,
};

const ID = '019aa5b2-7c1e-7a3f-9d2c-4b1e5f000001';

/** One refusal for each code. Their problem documents are the examples. */
const EXAMPLES = [
  invalidRequest([{ in: 'body', path: '/jobs/3/priority', message: 'must be <= 100' }]),
  unauthorized(),
  new Refusal('forbidden', 'This access key may not use the queue "mail.welcome".'),
  jobNotFound(ID),
  queueNotFound('mail.welcome'),
  scheduleNotFound('reports.daily'),
  keyNotFound(ID),
  operationNotFound(ID),
  new Refusal('request_timeout', 'The request did not arrive in time.'),
  leaseLost(ID),
  jobLeased(ID),
  jobFinished(ID, 'completed'),
  queueNotEmpty('mail.welcome'),
  uniqueKeyTaken(ID),
  keyNameTaken('mailer'),
  tooManyKeys(10_000),
  tooManyOperations(20, true),
  tooManyQueues(),
  payloadTooLarge('A payload may have 1048576 bytes.', [
    { in: 'body', path: '/payload', message: 'must be at most 1048576 bytes of JSON' },
  ]),
  new Refusal('unsupported_media_type', 'A body must be application/json.'),
  idempotencyKeyReused('8e03978e-40d5-43e8-bc93-6894a57f9324'),
  queueFull('mail.welcome'),
  rateLimited('This access key sends too many requests.', 1),
  new Refusal('headers_too_large', 'The headers are too large.'),
  new Refusal('internal', 'This is a bug in Dibs. Search its log for the x-request-id of this answer.'),
  unavailable(),
  overloaded(),
].map((refusal) => toProblem(refusal, true));

const refTo = (status: ProblemStatus) => ({ $ref: `#/components/responses/${NAMES[status]}` });

const statuses = Object.keys(NAMES).map(Number) as ProblemStatus[];

/** The answers that are problem documents, by name. Each has an example for each of its codes. */
export const problemResponses = Object.fromEntries(
  statuses.map((status) => [
    NAMES[status],
    {
      description: DESCRIPTIONS[status],
      ...(HEADERS[status] ? { headers: HEADERS[status] } : {}),
      content: {
        'application/problem+json': {
          schema: { $ref: '#/components/schemas/Problem' },
          examples: Object.fromEntries(
            EXAMPLES.filter((problem) => problem.status === status).map((value) => [value.code, { value }]),
          ),
        },
      },
    },
  ]),
);

/** The answers of an operation, where each problem refers to its shared description. */
export const sharingProblems = (responses: Record<string, object>) =>
  Object.fromEntries(
    Object.entries(responses).map(([status, response]) => [
      status,
      status in NAMES ? refTo(Number(status) as ProblemStatus) : response,
    ]),
  );
