import type { TSchema } from 'typebox';
import { ref } from '../../schemas/common.ts';
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

/** All codes that a route can be refused with: those that it names itself, and those of its kind. */
export const codesOf = (
  own: readonly ProblemCode[],
  { takesBody, isPublic }: { takesBody: boolean; isPublic: boolean },
): ReadonlySet<ProblemCode> =>
  new Set([...ANY, ...(takesBody ? OF_BODY : []), ...(isPublic ? [] : OF_CALLER), ...own]);

/** An answer of an operation: its schema, its meaning and its headers. */
export function answer(schema: TSchema, description: string, headers?: Record<string, object>) {
  return { description, ...(headers ? { headers } : {}), content: { 'application/json': { schema } } };
}

/** The same, for a schema that several operations answer. Its example has `changes`, to show what this answer is like. */
export function answerLike(
  schema: TSchema,
  changes: object,
  description: string,
  headers?: Record<string, object>,
) {
  const { content, ...rest } = answer(ref(schema), description, headers);
  const [shown] = (schema as { examples?: object[] }).examples ?? [];
  const example = { ...shown, ...changes };
  return { ...rest, content: { 'application/json': { ...content['application/json'], example } } };
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
}

/** What jobs may be refused for, where several are enqueued together. */
export const REFUSALS_OF_JOBS = [
  'batch_not_found',
  'batch_closed',
  'queue_elsewhere',
  'too_many_queues',
  'queue_full',
] as const;

/** The part of a route's schema that documents it. */
export const operation = ({ answers, refusals = [], ...described }: Operation) => ({
  ...described,
  response: answers,
  refusals,
});
