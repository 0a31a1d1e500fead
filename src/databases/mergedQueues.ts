import { earlier, inOrder, MOST_WORKERS } from '../looking/workers.ts';
import type { QueueList, QueuePage, WorkerNow, WorkersNow, WorkersRequest } from '../verbs/queues.ts';
import { askAll, type Part } from './merged.ts';

/** Queues by name, each with its database. */
export function mergedListQueues(parts: readonly Part<'listQueues'>[]) {
  return async (request: QueuePage): Promise<QueueList> => {
    const { answers, ...away } = await askAll(parts, ({ verbs }) => verbs.listQueues(request));
    const queues = answers
      .flatMap(({ name: database, answer }) => answer.queues.map((queue) => ({ ...queue, database })))
      .sort((a, b) => (a.name < b.name ? -1 : 1))
      .slice(0, request.limit);
    return { queues, ...away };
  };
}

/** Who works now. A worker may have leases in several databases. */
export function mergedListWorkers(parts: readonly Part<'listWorkers'>[]) {
  return async (request: WorkersRequest): Promise<WorkersNow> => {
    const { answers, ...away } = await askAll(parts, ({ verbs }) => verbs.listWorkers(request));
    const workers = new Map<string | null, WorkerNow>();
    for (const { answer } of answers)
      for (const worker of answer.workers) {
        const known = workers.get(worker.worker);
        workers.set(worker.worker, known ? together(known, worker) : worker);
      }
    const all = [...workers.values()].sort(inOrder);
    // Those that a database does not show may be the same as those of another. So this is the most there may be.
    const unshown = answers.reduce((sum, { answer }) => sum + answer.total - answer.workers.length, 0);
    return {
      workers: all.slice(0, MOST_WORKERS),
      total: all.length + unshown,
      complete: answers.every(({ answer }) => answer.complete),
      ...away,
    };
  };
}

function together(a: WorkerNow, b: WorkerNow): WorkerNow {
  const [first, other] = [a.next_lease_expires_at, b.next_lease_expires_at];
  return {
    worker: a.worker,
    leased: a.leased + b.leased,
    queues: [...a.queues, ...b.queues].sort(),
    since: earlier(a.since, b.since),
    next_lease_expires_at: first < other ? first : other,
  };
}
