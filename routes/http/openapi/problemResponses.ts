import {
  batchClosed,
  batchNotFound,
  databaseClosed,
  databaseNotFound,
  idempotencyKeyReused,
  jobFinished,
  jobLeased,
  jobNotFound,
  keyNameTaken,
  keyNotFound,
  leaseLost,
  operationNotFound,
  overloaded,
  queueBusy,
  queueElsewhere,
  queueFull,
  queueNotEmpty,
  queueNotFound,
  Refusal,
  rateLimited,
  scheduleNotFound,
  sessionNotFound,
  tooManyKeys,
  tooManyOperations,
  tooManyPausedGroups,
  tooManyQueues,
  tooManySessions,
  unauthorized,
  unavailable,
  uniqueKeyTaken,
} from '../../../src/errors.ts';
import { httpRefusal, type ProblemCode } from '../answers/httpRefusal.ts';
import { invalidPart, payloadTooLarge } from '../answers/invalidPart.ts';
import { type Problem, toProblem } from '../answers/problems.ts';

/** What each refusal of an operation means, in a sentence. */
const MEANINGS: { [code in ProblemCode]?: string } = {
  invalid_request: 'The request is not valid: `errors` names each field',
  unauthorized: 'There is no access key in `Authorization`, or it is not valid',
  forbidden:
    'The access key does not allow this; or, without keys, the request comes from a web page, or under a host name, that may not use Dibs',
  job_not_found: 'The job does not exist: it never did, or it is finished and was not kept',
  queue_not_found: 'The queue does not exist',
  schedule_not_found: 'The schedule does not exist',
  key_not_found: 'The access key does not exist',
  operation_not_found: 'The operation does not exist',
  database_not_found: 'The database does not exist',
  session_not_found: 'The session does not exist: it never did, or it has ended',
  batch_not_found: 'The batch does not exist, or not in the database of the queue',
  request_timeout: 'The request did not arrive in time',
  lease_lost: 'The lease is over, or another worker holds the job',
  job_leased: 'A worker has leased the job',
  job_finished: 'The job is finished',
  queue_not_empty: 'The queue still has jobs, or a batch that is not finished',
  queue_elsewhere: 'The queue is in another database than the request asks for, or is there already',
  queue_busy: 'The queue is being relocated, or an operation works on it',
  database_closed: 'The database takes no queues',
  batch_closed: 'The batch is closed',
  unique_key_taken: 'Another unfinished job has the unique key of this one',
  key_name_taken: 'Another access key has this name',
  too_many_keys: 'There can be no more access keys',
  too_many_operations: 'Too many operations are running',
  too_many_queues: 'There can be no more queues',
  too_many_sessions: 'There can be no more sessions of this access key',
  too_many_paused_groups: 'Too many groups of the queue are paused',
  payload_too_large: 'The body, or a value in it, is too large: `detail` names the limit',
  unsupported_media_type: 'The body is not `application/json` in UTF-8, or is compressed',
  idempotency_key_reused: 'The `Idempotency-Key` was used with another body',
  queue_full: 'The queue is full',
  rate_limited: 'This access key sends too many requests, or this address too many wrong keys',
  headers_too_large: 'The headers are too large',
  internal: 'A bug in Dibs',
  unavailable: 'The database does not answer',
  overloaded: 'This replica is overloaded',
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

const HEADERS: { [status: number]: object } = {
  429: { ...retryAfter, ...rateLimit },
  503: retryAfter,
};

const ID = '019aa5b2-7c1e-7a3f-9d2c-4b1e5f000001';

/** One refusal for each code. Their problem documents are the examples. */
const EXAMPLES = [
  invalidPart([{ in: 'body', path: '/jobs/3/priority', message: 'must be at most 100' }]),
  unauthorized(),
  new Refusal('forbidden', 'This access key may not use the queue "mail.welcome".'),
  jobNotFound(ID),
  queueNotFound('mail.welcome'),
  scheduleNotFound('reports.daily'),
  keyNotFound(ID),
  operationNotFound(ID),
  databaseNotFound('east'),
  batchNotFound(ID),
  sessionNotFound('6f1d2c3b-4a59-4876-8e1d-0c9b8a7f6e5d'),
  httpRefusal('request_timeout', 'The request did not arrive in time.'),
  leaseLost(ID),
  jobLeased(ID),
  jobFinished(ID, 'completed'),
  queueNotEmpty('mail.welcome'),
  queueElsewhere('mail.welcome', 'east'),
  queueBusy('mail.welcome', 'is being relocated to the database "west"'),
  databaseClosed('west'),
  batchClosed(ID),
  uniqueKeyTaken(ID),
  keyNameTaken('mailer'),
  tooManyKeys(10_000),
  tooManyOperations(20, true),
  tooManyQueues(),
  tooManyPausedGroups('mail.welcome', 1000),
  tooManySessions(10_000),
  payloadTooLarge('A payload may have 1048576 bytes.', [
    { in: 'body', path: '/payload', message: 'must be at most 1048576 bytes of JSON' },
  ]),
  httpRefusal('unsupported_media_type', 'A body must be application/json.'),
  idempotencyKeyReused('8e03978e-40d5-43e8-bc93-6894a57f9324'),
  queueFull('mail.welcome'),
  rateLimited('This access key sends too many requests.', 1),
  httpRefusal('headers_too_large', 'The headers are too large.'),
  httpRefusal('internal', 'This is a bug in Dibs. Search its log for the x-request-id of this answer.'),
  unavailable(),
  overloaded(),
].map((refusal) => toProblem(refusal, true));

/** The name of an answer, made of its codes: `LeaseLostOrTooManyQueues`. */
const nameOf = (problems: Problem[]) =>
  problems
    .map(({ code }) => code.replaceAll(/(?:^|_)(.)/g, (_, letter: string) => letter.toUpperCase()))
    .join('Or');

/**
 * One type for all problems, and beside it the codes of this answer. Validators and Swagger UI read both. Generators of clients read
 * the type only, if the codes are not in `properties`: docs/decisions/0082-codes-of-each-operation.md.
 */
const problemWith = (codes: ProblemCode[]) => ({
  $ref: '#/components/schemas/Problem',
  patternProperties: { '^code$': { enum: codes } },
});

function responseOf(status: number, problems: Problem[]): object {
  const meanings = problems.map(({ code }) => `${MEANINGS[code]} (\`${code}\`).`);
  const headers = HEADERS[status];
  if (headers) meanings.push('Try again after `Retry-After` seconds.');
  return {
    description: meanings.join(' '),
    ...(headers ? { headers } : {}),
    content: {
      'application/problem+json': {
        schema: problemWith(problems.map(({ code }) => code)),
        examples: Object.fromEntries(problems.map((value) => [value.code, { value }])),
      },
    },
  };
}

/**
 * The answers with these codes, by status. Operations with the same codes share an answer: `refs` refer to what must stand in
 * the document as `shared`.
 */
export function problemResponses(codes: ReadonlySet<ProblemCode>) {
  const shared: Record<string, object> = {};
  const refs: Record<number, object> = {};
  const found = EXAMPLES.filter(({ code }) => codes.has(code));
  for (const status of new Set(found.map((problem) => problem.status))) {
    const problems = found.filter((problem) => problem.status === status);
    const name = nameOf(problems);
    shared[name] = responseOf(status, problems);
    refs[status] = { $ref: `#/components/responses/${name}` };
  }
  return { shared, refs };
}
