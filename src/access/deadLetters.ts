import type { Caller } from '../caller.ts';
import { Refusal } from '../errors.ts';
import type { Verbs } from '../verbs.ts';
import { checkQueue } from './checks.ts';
import type { Need } from './needs.ts';
import type { Run } from './untilEnd.ts';

type Looking = Pick<Verbs, 'getQueue'>;

/** Where the dead jobs of a queue go now. Undefined: there is no such queue. */
async function deadLettersNow(verbs: Looking, caller: Caller, queue: string) {
  try {
    return (await verbs.getQueue({ queue, from: caller })).dead_letter_queue;
  } catch (error) {
    if (error instanceof Refusal && error.code === 'queue_not_found') return undefined;
    throw error;
  }
}

/**
 * The verb for a request that says where the dead jobs of a queue go. A caller may have them go on to where they go when its request
 * begins, and else only to a queue that it may use.
 */
export function withDeadLetters(verbs: Looking, caller: Caller, { deadLetters }: Need, run: Run): Run {
  if (!deadLetters) return run;
  return async (request) => {
    const to = deadLetters(request);
    const { queue } = request as unknown as { queue: string };
    if (to !== null && !caller.mayUse(to) && (await deadLettersNow(verbs, caller, queue)) !== to)
      checkQueue(caller, to);
    return run(request);
  };
}
