import { STATUS_CODES } from 'node:http';
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import { type FieldError, payloadTooLarge, Refusal, type RefusalCode } from '../../src/errors.ts';

/** The only map from codes to statuses. */
const STATUS: Record<RefusalCode, number> = {
  invalid_request: 400,
  unauthorized: 401,
  forbidden: 403,
  job_not_found: 404,
  queue_not_found: 404,
  schedule_not_found: 404,
  route_not_found: 404,
  method_not_allowed: 405,
  lease_lost: 409,
  job_leased: 409,
  job_finished: 409,
  queue_not_empty: 409,
  unique_key_taken: 409,
  payload_too_large: 413,
  unsupported_media_type: 415,
  idempotency_key_reused: 422,
  queue_full: 429,
  internal: 500,
  unavailable: 503,
};

const TITLES: Record<RefusalCode, string> = {
  invalid_request: 'The request is malformed',
  unauthorized: 'The access key is missing or unknown',
  forbidden: 'The access key does not allow this',
  job_not_found: 'There is no such job',
  queue_not_found: 'There is no such queue',
  schedule_not_found: 'There is no such schedule',
  route_not_found: 'There is no such route',
  method_not_allowed: 'The method is not allowed here',
  lease_lost: 'The lease is over',
  job_leased: 'The job is with a worker',
  job_finished: 'The job is finished',
  queue_not_empty: 'The queue is not empty',
  unique_key_taken: 'Another job has the unique key',
  payload_too_large: 'The body or a value in it is too large',
  unsupported_media_type: 'The body is not JSON',
  idempotency_key_reused: 'The idempotency key was used for another request',
  queue_full: 'The queue is full',
  internal: 'Something went wrong in Dibs',
  unavailable: 'The service is temporarily unavailable',
};

/** A problem document (RFC 9457). */
export interface Problem {
  type: string;
  title: string;
  status: number;
  detail: string;
  code: RefusalCode;
  errors?: FieldError[];
}

export const RETRY_AFTER_SECONDS = 1;

export function toProblem({ code, message, errors }: Refusal): Problem {
  const problem: Problem = {
    type: `urn:problem-type:dibs:${code}`,
    title: TITLES[code],
    status: STATUS[code],
    detail: message,
    code,
  };
  if (errors) problem.errors = errors;
  return problem;
}

export function sendProblem(reply: FastifyReply, refusal: Refusal): FastifyReply {
  const problem = toProblem(refusal);
  if (problem.status === 503 || problem.status === 429) reply.header('retry-after', RETRY_AFTER_SECONDS);
  return reply
    .header('x-request-id', reply.request.id)
    .code(problem.status)
    .type('application/problem+json')
    .serializer(JSON.stringify)
    .send(problem);
}

const PARTS: Record<string, FieldError['in']> = {
  body: 'body',
  querystring: 'query',
  params: 'path',
  headers: 'header',
};

/** The JSON pointer of the field that a validation error speaks of, the missing or unknown one included. */
function pointer(error: NonNullable<FastifyError['validation']>[number]): string {
  const { missingProperty, additionalProperty, propertyName } = error.params as Record<string, string>;
  // What is wrong with a name itself, as its length, tells the name beside the params.
  const badName = (error as { propertyName?: string }).propertyName;
  const name = missingProperty ?? additionalProperty ?? propertyName ?? badName;
  return name === undefined
    ? error.instancePath
    : `${error.instancePath}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

function explain(error: NonNullable<FastifyError['validation']>[number]): string {
  const { allowedValues } = error.params as { allowedValues?: unknown[] };
  switch (error.keyword) {
    case 'required':
      return 'is required';
    case 'additionalProperties':
      return 'is not a known field';
    case 'enum':
      return `must be one of ${allowedValues?.join(', ')}`;
    case 'format':
      return 'must be a time as in RFC 3339, with its offset';
    default:
      return error.message ?? 'is not valid';
  }
}

function malformed(error: FastifyError): Refusal {
  const part = PARTS[error.validationContext ?? 'body'] ?? 'body';
  const errors = (error.validation ?? []).map((e) => ({ in: part, path: pointer(e), message: explain(e) }));
  const detail = errors.map((e) => `${e.path || e.in} ${e.message}`).join('; ');
  return new Refusal('invalid_request', `${detail}.`, errors);
}

const wholeBody = (message: string) =>
  new Refusal('invalid_request', `The body ${message}.`, [{ in: 'body', path: '', message }]);

/** What Fastify itself refuses, by its codes. */
function fromFramework(error: FastifyError): Refusal | undefined {
  switch (error.code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return payloadTooLarge('The body is larger than 16 MiB.');
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return new Refusal(
        'unsupported_media_type',
        'Send the body as JSON, with the header "content-type: application/json".',
      );
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return wholeBody('must be as long as its content-length says');
    case 'FST_ERR_BAD_URL':
      return new Refusal('invalid_request', 'The path is not a valid URL path.', [
        { in: 'path', path: '', message: 'must be percent-encoded UTF-8' },
      ]);
    default:
      return undefined;
  }
}

/** The refusal behind any error; undefined for a bug. */
function refusalOf(error: FastifyError | Refusal | Error): Refusal | undefined {
  if (error instanceof Refusal) return error;
  if ('validation' in error && error.validation) return malformed(error);
  if (error instanceof SyntaxError) return wholeBody(`must be JSON: ${error.message}`);
  if (error instanceof TypeError && 'code' in error && error.code === 'ERR_ENCODING_INVALID_ENCODED_DATA')
    return wholeBody('must be UTF-8');
  return 'code' in error ? fromFramework(error as FastifyError) : undefined;
}

export function handleError(error: FastifyError, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const refusal = refusalOf(error);
  const reqId = request.id;
  if (refusal) {
    if (refusal.code === 'unavailable') request.log.warn({ reqId }, refusal.message);
    return sendProblem(reply, refusal);
  }
  request.log.error({ reqId, err: error }, 'a request failed');
  return sendProblem(
    reply,
    new Refusal('internal', 'This is a bug in Dibs; its log tells more, by the request id.'),
  );
}

export function routeNotFound(request: FastifyRequest, reply: FastifyReply): FastifyReply {
  return sendProblem(
    reply,
    new Refusal('route_not_found', `There is no route ${request.method} ${request.url.split('?')[0]}.`),
  );
}

export function methodNotAllowed(allowed: string[]) {
  return async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> =>
    sendProblem(
      reply.header('allow', allowed.join(', ')),
      new Refusal('method_not_allowed', `${request.method} is not allowed here; ${allowed.join(', ')} is.`),
    );
}

/** For requests that aren't HTTP, which never reach a route. */
export function rawProblem(): string {
  const refusal = new Refusal('invalid_request', 'The request is not valid HTTP.', [
    { in: 'header', path: '', message: 'must be valid HTTP' },
  ]);
  const body = JSON.stringify(toProblem(refusal));
  return (
    `HTTP/1.1 400 ${STATUS_CODES[400]}\r\ncontent-type: application/problem+json\r\n` +
    `content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`
  );
}
