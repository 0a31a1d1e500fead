/** The dead letter queue of a queue. Undefined: its dead jobs stay. */
export type DeadLetterQueueOf = (queue: string) => string | undefined;

/** The queues through which the dead jobs of a queue go, itself first, up to one that is `seen`. They are seen then. */
function pathOf(queue: string, next: DeadLetterQueueOf, seen: Set<string>): string[] {
  const path: string[] = [];
  for (let at: string | undefined = queue; at !== undefined && !seen.has(at); at = next(at)) {
    seen.add(at);
    path.push(at);
  }
  return path;
}

/** The circles that dead letter queues make, each as its queues in their order. */
export function circlesOf(queues: Iterable<string>, next: DeadLetterQueueOf): string[][] {
  const seen = new Set<string>();
  return [...queues].flatMap((queue) => {
    const path = pathOf(queue, next, seen);
    const back = path.indexOf(next(path.at(-1) ?? queue) ?? '');
    return back === -1 ? [] : [path.slice(back)];
  });
}

/** Queues in such an order that each comes after all through which its dead jobs go. */
export function endsFirst(queues: Iterable<string>, next: DeadLetterQueueOf): string[] {
  const seen = new Set<string>();
  return [...queues].flatMap((queue) => pathOf(queue, next, seen).reverse());
}

/** Queues, and all queues through which their dead jobs go. */
export function withDeadLetterQueues(queues: Iterable<string>, next: DeadLetterQueueOf): Set<string> {
  const seen = new Set<string>();
  for (const queue of queues) pathOf(queue, next, seen);
  return seen;
}
