import type { TSchema } from 'typebox';
import { Problem, ref } from '../../schemas/common.ts';
import type { ProblemStatus } from './problemResponses.ts';

/** The document describes these answers once, in problemResponses.ts. The routes only say which they have. */
const problems = (statuses: ProblemStatus[]) =>
  Object.fromEntries(
    statuses.map((status) => [
      status,
      { description: '', content: { 'application/problem+json': { schema: ref(Problem) } } },
    ]),
  );

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
  /** The problems besides those that any request may meet and those of reading a body. */
  refusals?: ProblemStatus[];
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
  const body: ProblemStatus[] = takesBody ? [400, 413, 415] : [];
  const access: ProblemStatus[] = isPublic ? [] : [401, 429];
  return {
    ...described,
    response: {
      ...answers,
      ...problems([...new Set([...body, ...refusals, ...access, 403, 408, 431, 500, 503] as const)]),
    },
  };
}
