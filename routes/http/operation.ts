import type { TSchema } from 'typebox';
import { Problem, ref } from '../schemas/common.ts';

const PROBLEMS = {
  400: 'The request is malformed: `errors` names each field (`invalid_request`).',
  401: 'There is no access key in `Authorization`, or it is not valid (`unauthorized`).',
  403: 'The access key does not allow this; or, without keys, the request comes from a web page, or under a host name, that may not use Dibs (`forbidden`).',
  404: 'There is no such job, queue, schedule, access key or operation (`job_not_found`, `queue_not_found`, `schedule_not_found`, `key_not_found`, `operation_not_found`).',
  408: 'The request did not arrive in time (`request_timeout`).',
  409: 'The job or queue is not in a state for this (`lease_lost`, `job_leased`, `job_finished`, `queue_not_empty`, `unique_key_taken`), or there is such an access key, or no room for one, or for another operation (`key_name_taken`, `too_many_keys`, `too_many_operations`).',
  413: 'The body, or a value in it, is too large (`payload_too_large`): `detail` names the limit.',
  415: 'The body is not `application/json` in UTF-8, or is compressed (`unsupported_media_type`).',
  422: 'The `Idempotency-Key` was used with another body (`idempotency_key_reused`).',
  429: 'The queue is full (`queue_full`), or this access key sends too many requests, or this address too many wrong keys (`rate_limited`). Try again after `Retry-After` seconds.',
  431: 'The headers are too large (`headers_too_large`).',
  500: 'A bug in Dibs (`internal`).',
  503: 'The database does not answer (`unavailable`), or this replica holds as much as it can (`overloaded`). Try again after `Retry-After` seconds.',
};

const retryAfter = {
  'Retry-After': { type: 'integer', description: 'Seconds until it is worth trying again.' },
};

/** Where there is a limit, all answers have them. They are described once, so that the document stays small. */
const rateLimitHeaders = {
  'RateLimit-Limit': { type: 'integer', description: 'The requests a second that this access key may send.' },
  'RateLimit-Remaining': { type: 'integer', description: 'How many of them are left.' },
  'RateLimit-Reset': { type: 'integer', description: 'Seconds until the count begins anew.' },
};

function problems(statuses: (keyof typeof PROBLEMS)[]) {
  return Object.fromEntries(
    statuses.map((status) => [
      status,
      {
        description: PROBLEMS[status],
        ...(status === 503 ? { headers: retryAfter } : {}),
        ...(status === 429 ? { headers: { ...retryAfter, ...rateLimitHeaders } } : {}),
        content: { 'application/problem+json': { schema: ref(Problem) } },
      },
    ]),
  );
}

/** An answer of an operation: its schema, its meaning and its headers. */
export function answer(schema: TSchema, description: string, headers?: Record<string, object>) {
  return { description, ...(headers ? { headers } : {}), content: { 'application/json': { schema } } };
}

export interface Operation {
  operationId: string;
  tags: string[];
  summary: string;
  description?: string;
  answers: Record<number, object>;
  /** The problems besides those that any request may meet and those of reading a body. */
  refusals?: (keyof typeof PROBLEMS)[];
  /** Anybody may ask, without an access key. */
  isPublic?: boolean;
  /** True for all methods but GET: a body is read, and may be refused, even where none is needed. */
  takesBody?: boolean;
}

/** The part of a route's schema that documents it. Adds the problem answers. */
export function operation({
  answers,
  refusals = [],
  isPublic = false,
  takesBody = false,
  ...described
}: Operation) {
  const body: (keyof typeof PROBLEMS)[] = takesBody ? [400, 413, 415] : [];
  const access: (keyof typeof PROBLEMS)[] = isPublic ? [] : [401, 429];
  return {
    ...described,
    response: {
      ...answers,
      ...problems([...new Set([...body, ...refusals, ...access, 403, 408, 431, 500, 503] as const)]),
    },
  };
}
