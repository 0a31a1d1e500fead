import type { TSchema } from 'typebox';
import type { ProblemCode } from '../answers/httpRefusal.ts';

/** Refusals of any request, by its head or on its way. */
const ANY: ProblemCode[] = [
  'invalid_request',
  'forbidden',
  'request_timeout',
  'headers_too_large',
  'internal',
];
/** Refusals of a body. `overloaded`: there is no room for it. */
const OF_BODY: ProblemCode[] = ['payload_too_large', 'unsupported_media_type', 'overloaded'];
/** Refusals of callers, and of all that asks the database. */
const OF_CALLER: ProblemCode[] = ['unauthorized', 'rate_limited', 'unavailable'];

/** An answer of an operation: its schema, its meaning and its headers. */
export function answer(schema: TSchema, description: string, headers?: Record<string, object>) {
  return { description, ...(headers ? { headers } : {}), content: { 'application/json': { schema } } };
}

/** An operation that takes the id of a job in this answer. `id` is a runtime expression of OpenAPI. */
export const link = (operationId: string, id: string, description: string) => ({
  operationId,
  parameters: { id },
  description,
});

export interface Operation {
  operationId: string;
  tags: string[];
  summary: string;
  description?: string;
  answers: Record<number, object>;
  /** What it refuses besides: not what any request may be refused for, nor its body or its caller. */
  refusals?: ProblemCode[];
  /** Anybody may ask, without an access key. */
  isPublic?: boolean;
  /** True for all methods but GET: a body is read, and may be refused, even where none is needed. */
  takesBody?: boolean;
}

/** The part of a route's schema that documents it. `refusals` has all codes that it can be refused with. */
export function operation({
  answers,
  refusals = [],
  isPublic = false,
  takesBody = false,
  ...described
}: Operation) {
  const codes = [...ANY, ...(takesBody ? OF_BODY : []), ...(isPublic ? [] : OF_CALLER), ...refusals];
  return { ...described, response: answers, refusals: new Set(codes) };
}
