import { operationNotFound, Refusal, unavailable } from '../errors.ts';
import type { Operation, OperationList, OperationName, OperationPage } from '../verbs/operations.ts';
import { askAll, type Part } from './merged.ts';

/** Operations of all databases, newest first, as far as the clocks of the databases agree: by their ids. */
export function mergedListOperations(parts: readonly Part<'listOperations'>[]) {
  return async (request: OperationPage): Promise<OperationList> => {
    const { answers, ...away } = await askAll(parts, ({ verbs }) => verbs.listOperations(request));
    const operations = answers
      .flatMap(({ answer }) => answer.operations)
      .sort((a, b) => (a.id > b.id ? -1 : 1))
      .slice(0, request.limit);
    return { operations, ...away };
  };
}

const isNotFound = (error: unknown) => error instanceof Refusal && error.code === 'operation_not_found';

/**
 * A verb about one operation, whichever database it is in. @throws Refusal `operation_not_found` when none has it, `unavailable`
 * when only one that is away may have it
 */
export function mergedOperation<V extends 'getOperation' | 'stopOperation'>(
  parts: readonly Part<V>[],
  verb: V,
): (request: OperationName) => Promise<Operation> {
  return async (request) => {
    const { answers, away } = await askAll(parts, (part) =>
      (part.verbs as Record<V, (request: OperationName) => Promise<Operation>>)
        [verb](request)
        .catch((error) => {
          if (!isNotFound(error)) throw error;
          return undefined;
        }),
    );
    const found = answers.find(({ answer }) => answer !== undefined)?.answer;
    if (found) return found;
    if (away) throw unavailable(`The operation may be in a database that is away: ${away.join(', ')}.`);
    throw operationNotFound(request.id);
  };
}
