import type { BatchList, BatchPage } from '../verbs/batches.ts';
import { askAll, type Part } from './merged.ts';

/** Batches of all databases, newest first, as far as the clocks of the databases agree: by their ids. */
export function mergedListBatches(parts: readonly Part<'listBatches'>[]) {
  return async (request: BatchPage): Promise<BatchList> => {
    const { answers, ...away } = await askAll(parts, ({ verbs }) => verbs.listBatches(request));
    const batches = answers
      .flatMap(({ answer }) => answer.batches)
      .sort((a, b) => (a.id > b.id ? -1 : 1))
      .slice(0, request.limit);
    return { batches, ...away };
  };
}
