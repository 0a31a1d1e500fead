import type { TSchema } from 'typebox';
import type { RefusalCode } from '../../../src/errors.ts';
import { Problem, ref } from '../../schemas/common.ts';
import { statusOf } from '../answers/problems.ts';

/**
 * The refusals of an operation, by status. problemResponses.ts describes each set of codes once, for all operations that have it. Until then,
 * the description of an answer names its codes.
 */
function problems(codes: RefusalCode[]) {
  const byStatus: Record<number, RefusalCode[]> = {};
  for (const code of new Set(codes)) {
    const status = statusOf(code);
    byStatus[status] = [...(byStatus[status] ?? []), code];
  }
  const content = { 'application/problem+json': { schema: ref(Problem) } };
  return Object.fromEntries(
    Object.entries(byStatus).map(([status, ofStatus]) => [
      status,
      { description: ofStatus.join(' '), content },
    ]),
  );
}

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
  /** What it refuses, besides what any request may meet and what may be wrong with any body. */
  refusals?: RefusalCode[];
  /** Anybody may ask, without an access key. */
  isPublic?: boolean;
  /** True for all methods but GET: a body is read, and may be refused, even where none is needed. */
  takesBody?: boolean;
}

const OF_BODIES: RefusalCode[] = ['invalid_request', 'payload_too_large', 'unsupported_media_type'];
const OF_KEYS: RefusalCode[] = ['unauthorized', 'rate_limited'];
const OF_ALL: RefusalCode[] = [
  'forbidden',
  'request_timeout',
  'headers_too_large',
  'internal',
  'unavailable',
  'overloaded',
];

/** The part of a route's schema that documents it. Adds the problem answers. */
export function operation({
  answers,
  refusals = [],
  isPublic = false,
  takesBody = false,
  ...described
}: Operation) {
  const ofBodies = takesBody ? OF_BODIES : [];
  const ofKeys = isPublic ? [] : OF_KEYS;
  return {
    ...described,
    response: { ...answers, ...problems([...ofBodies, ...refusals, ...ofKeys, ...OF_ALL]) },
  };
}
