import type { Verbs } from '../verbs.ts';
import type { Part } from './merged.ts';
import { mergedListBatches } from './mergedBatches.ts';
import { mergedGetMetrics, mergedGetOverview, mergedGetSamples } from './mergedCounting.ts';
import { type Accepting, mergedDatabases } from './mergedDatabases.ts';
import { mergedListJobs } from './mergedJobs.ts';
import { mergedListOperations, mergedOperation } from './mergedOperations.ts';
import { mergedListQueues, mergedListWorkers } from './mergedQueues.ts';

type AboutOperations = 'listOperations' | 'getOperation' | 'stopOperation';

type Asked =
  | AboutOperations
  | 'listBatches'
  | 'listJobs'
  | 'listQueues'
  | 'listWorkers'
  | 'getMetrics'
  | 'getOverview'
  | 'getSamples'
  | 'listDatabases';

/** Leads to the database of a queue. One that there is not has nothing, in any of them. */
type ToQueue = <T>(queue: string, run: (part: { verbs: Pick<Verbs, Asked> }) => Promise<T>) => Promise<T>;

/** The verbs that ask all databases, and put together what they answer. `parts`: home is the first. */
export function mergedVerbs(
  parts: readonly Part<Asked>[],
  toQueue: ToQueue,
  accepting: Accepting,
  relocations: Part<AboutOperations>,
): Pick<Verbs, Asked | 'configureDatabase'> {
  const listBatches = mergedListBatches(parts);
  const listJobs = mergedListJobs(parts);
  const listWorkers = mergedListWorkers(parts);
  const getSamples = mergedGetSamples(parts);
  const withRelocations: readonly Part<AboutOperations>[] = [...parts, relocations];

  return {
    // What is about one queue is asked where that is.
    listJobs: (request) =>
      request.queue === undefined
        ? listJobs(request)
        : toQueue(request.queue, ({ verbs }) => verbs.listJobs(request)),
    listBatches: (request) =>
      request.queue === undefined
        ? listBatches(request)
        : toQueue(request.queue, ({ verbs }) => verbs.listBatches(request)),
    listWorkers: (request) =>
      request.queue === undefined
        ? listWorkers(request)
        : toQueue(request.queue, ({ verbs }) => verbs.listWorkers(request)),
    getSamples: (request) =>
      request.queue === undefined
        ? getSamples(request)
        : toQueue(request.queue, ({ verbs }) => verbs.getSamples(request)),
    listQueues: mergedListQueues(parts),
    getMetrics: mergedGetMetrics(parts),
    getOverview: mergedGetOverview(parts),
    listOperations: mergedListOperations(withRelocations),
    getOperation: mergedOperation(withRelocations, 'getOperation'),
    stopOperation: mergedOperation(withRelocations, 'stopOperation'),
    ...mergedDatabases(parts, accepting),
  };
}
