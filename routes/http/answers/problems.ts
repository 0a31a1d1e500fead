import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import type { Outcome, Refusal } from '../../../src/errors.ts';
import { idsOf } from '../../../src/traceparent.ts';
import { NO_SNIFF } from '../security/noSniff.ts';
import { httpRefusal, type ProblemCode } from './httpRefusal.ts';
import { type PartError, withPart } from './invalidPart.ts';
import { refusalOf, wholeBody, withoutBody } from './refusalOf.ts';

/** The only map from codes to statuses. */
const STATUS: Record<ProblemCode, number> = {
  invalid_request: 400,
  unauthorized: 401,
  forbidden: 403,
  job_not_found: 404,
  queue_not_found: 404,
  schedule_not_found: 404,
  key_not_found: 404,
  operation_not_found: 404,
  database_not_found: 404,
  batch_not_found: 404,
  session_not_found: 404,
  route_not_found: 404,
  method_not_allowed: 405,
  request_timeout: 408,
  lease_lost: 409,
  job_leased: 409,
  job_finished: 409,
  queue_not_empty: 409,
  queue_elsewhere: 409,
  queue_busy: 409,
  database_closed: 409,
  batch_closed: 409,
  unique_key_taken: 409,
  key_name_taken: 409,
  too_many_keys: 409,
  too_many_operations: 409,
  too_many_queues: 409,
  too_many_paused_groups: 409,
  too_many_sessions: 409,
  payload_too_large: 413,
  unsupported_media_type: 415,
  idempotency_key_reused: 422,
  queue_full: 429,
  rate_limited: 429,
  headers_too_large: 431,
  internal: 500,
  unavailable: 503,
  overloaded: 503,
};

export const PROBLEM_CODES = Object.keys(STATUS) as ProblemCode[];

const TITLES: Record<ProblemCode, string> = {
  invalid_request: 'The request is not valid',
  unauthorized: 'The access key is missing or unknown',
  forbidden: 'The caller is not allowed to do this',
  job_not_found: 'Job not found',
  queue_not_found: 'Queue not found',
  schedule_not_found: 'Schedule not found',
  key_not_found: 'Access key not found',
  operation_not_found: 'Operation not found',
  database_not_found: 'Database not found',
  batch_not_found: 'Batch not found',
  session_not_found: 'Session not found',
  route_not_found: 'Route not found',
  method_not_allowed: 'Method not allowed',
  request_timeout: 'The request did not arrive in time',
  lease_lost: 'The lease is over',
  job_leased: 'A worker has leased the job',
  job_finished: 'The job is finished',
  queue_not_empty: 'The queue is not empty',
  queue_elsewhere: 'The queue is in another database',
  queue_busy: 'Something works on the whole queue',
  database_closed: 'The database takes no queues',
  batch_closed: 'The batch is closed',
  unique_key_taken: 'Another unfinished job has the unique key',
  key_name_taken: 'Another access key has the name',
  too_many_keys: 'There are too many access keys',
  too_many_operations: 'Too many operations are running',
  too_many_queues: 'There are too many queues',
  too_many_paused_groups: 'Too many groups of the queue are paused',
  too_many_sessions: 'Too many sessions',
  payload_too_large: 'The body, or a value in it, is too large',
  unsupported_media_type: 'The body must be JSON in UTF-8',
  idempotency_key_reused: 'The idempotency key was used for another request',
  queue_full: 'The queue is full',
  rate_limited: 'Too many requests',
  headers_too_large: 'The headers are too large',
  internal: 'Internal error',
  unavailable: 'The service is temporarily unavailable',
  overloaded: 'The replica is overloaded',
};

/** How to do over HTTP what a refusal speaks of. */
const OVER_HTTP: Partial<Record<ProblemCode, string>> = {
  unauthorized: ': send it as "Authorization: Bearer <key>".',
  queue_not_empty: ' With ?force=true, the queue is deleted all the same.',
};

/** A problem document (RFC 9457). */
export interface Problem {
  type: string;
  title: string;
  status: number;
  detail: string;
  code: ProblemCode;
  errors?: PartError[];
  outcome?: Outcome;
}

/** `isChange`: the call that is refused would have changed something. */
export function toProblem(
  { code, message, errors, outcome }: Refusal<ProblemCode>,
  isChange = false,
): Problem {
  const problem: Problem = {
    type: `urn:problem-type:dibs:${code}`,
    title: TITLES[code],
    status: STATUS[code],
    detail: message + (OVER_HTTP[code] ?? ''),
    code,
  };
  if (errors) problem.errors = errors.map((error) => withPart(error, isChange));
  if (outcome && isChange) problem.outcome = outcome;
  return problem;
}

export function sendProblem(reply: FastifyReply, refusal: Refusal<ProblemCode>): FastifyReply {
  const { method, server } = reply.request;
  server.requestCounts?.refused(refusal.code);
  const problem = toProblem(refusal, method !== 'GET' && method !== 'HEAD');
  if (problem.status === 401) reply.header('www-authenticate', 'Bearer realm="dibs"');
  if (problem.status === 503 || problem.status === 429)
    reply.header('retry-after', refusal.retryAfterSeconds);
  return reply
    .header('x-request-id', reply.request.id)
    .header(...NO_SNIFF)
    .code(problem.status)
    .type('application/problem+json')
    .serializer(JSON.stringify)
    .send(problem);
}

export function handleError(error: FastifyError, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  // Nobody hears this answer: the client broke off its upload, or took too long.
  const isBrokenOff = error.code === 'ECONNRESET' && !request.raw.complete;
  const refusal = isBrokenOff ? wholeBody('must arrive whole') : refusalOf(error);
  if (refusal) {
    const takesBody = request.routeOptions.schema?.body !== undefined;
    return sendProblem(reply, takesBody ? refusal : withoutBody(refusal));
  }
  const traceId = idsOf(request.headers.traceparent)?.traceId;
  request.log.error({ reqId: request.id, traceId, err: error }, 'a request failed');
  return sendProblem(
    reply,
    httpRefusal('internal', 'This is a bug in Dibs. Search its log for the x-request-id of this answer.'),
  );
}

export function routeNotFound(request: FastifyRequest, reply: FastifyReply): FastifyReply {
  return sendProblem(
    reply,
    httpRefusal(
      'route_not_found',
      `There is no route ${request.method} ${request.url.split('?')[0]}. See /docs for all routes.`,
    ),
  );
}

export function methodNotAllowed(allowed: string[]) {
  return async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> =>
    sendProblem(
      reply.header('allow', allowed.join(', ')),
      httpRefusal(
        'method_not_allowed',
        `${request.method} is not allowed here. Use ${allowed.join(' or ')}.`,
      ),
    );
}
