import type { Caller } from '../caller.ts';
import { batchNotFound, jobNotFound, Refusal } from '../errors.ts';
import type { VerbName, Verbs } from '../verbs.ts';
import { check, mayAll } from './checks.ts';
import { withDeadLetters } from './deadLetters.ts';
import { type Need, needOf } from './needs.ts';
import type { NewQueueLimit } from './newQueues.ts';
import { settleVisible } from './settleVisible.ts';
import { heldUntilEnd, type Run, untilEnd } from './untilEnd.ts';

const LONGEST_NAME = 256;
/** Names come from keys and tokens. PostgreSQL takes no NUL, and no half of a character. */
const nameOf = ({ name }: Caller) => Buffer.from(name.replaceAll('\0', '').slice(0, LONGEST_NAME)).toString();

/** Tells the queue of a job by its id: at once, where it is known. */
export interface QueuesOfJobs {
  /** @throws Refusal `job_not_found` */
  ofJob(id: string): { name: string } | Promise<{ name: string }>;
}

export type Verb = (request: never) => Promise<unknown>;

/** The verbs of callers: each does what its caller may do, and refuses the rest. */
export function createAllowed(verbs: Verbs, queues: QueuesOfJobs, limitNewQueues?: NewQueueLimit) {
  /**
   * Whether the caller may use the queue of a job. At once, where the queue is known. @throws Refusal `job_not_found`
   */
  function mayUseJob(caller: Caller, id: string): boolean | Promise<boolean> {
    const queue = queues.ofJob(id);
    return queue instanceof Promise
      ? queue.then(({ name }) => caller.mayUse(name))
      : caller.mayUse(queue.name);
  }

  async function orNotFound(mayUse: boolean | Promise<boolean>, id: string): Promise<void> {
    if (!(await mayUse)) throw jobNotFound(id);
  }

  /**
   * The verb for a request that puts jobs into batches. One of a queue of others is refused as if it were not there. Of one whose
   * queue is gone, the verb says so, or repeats an answer of before.
   */
  function withBatches(caller: Caller, { batches }: Need, run: Run): Run {
    if (!batches) return run;
    return (request) => {
      const ids = [...batches(request)];
      if (ids.length === 0) return run(request);
      const may = ids.map(async (id) => {
        try {
          if (await mayUseJob(caller, id)) return;
        } catch (error) {
          if (error instanceof Refusal && error.code === 'job_not_found') return;
          throw error;
        }
        throw batchNotFound(id);
      });
      return Promise.all(may).then(() => run(request));
    };
  }

  /** The verb for the jobs of a caller that may use some of the queues. The request names no others. */
  function narrow(caller: Caller, need: Need, run: Run): Verb {
    if (need.job)
      return (request: { id: string }) => {
        const mayUse = mayUseJob(caller, request.id);
        return mayUse === true ? run(request) : orNotFound(mayUse, request.id).then(() => run(request));
      };
    if (need.items) return (request) => settleVisible(request, run as never, (id) => mayUseJob(caller, id));
    if (need.narrowed)
      return (request: object) => run({ ...request, visible: caller.visible, mayUse: caller.mayUse });
    return run;
  }

  /** The verb for a caller that may create so many queues a second. Where nobody needs a key, there is no limit. */
  function limited({ id }: Caller, { creates }: Need, run: Run): Run {
    if (!creates || !limitNewQueues || id === undefined) return run;
    return (request) => {
      const counted = limitNewQueues(id, creates(request));
      return counted ? counted.then(() => run(request)) : run(request);
    };
  }

  /** The verb with what it takes of its caller: its names apart from those of others, its turn, its end. */
  function inName(caller: Caller, name: VerbName, need: Need): Run {
    const verb = verbs[name] as Run;
    const { own } = need;
    const { id } = caller;
    const named: Run = own === undefined || id === undefined ? verb : (request) => verb(own(request, id));
    const by = nameOf(caller);
    const signed: Run =
      need.signed && id !== undefined
        ? (request) => named({ ...(request as object), by })
        : need.looks && id !== undefined
          ? (request) => named({ ...(request as object), from: caller })
          : named;
    if (need.holds && caller.onEnd) return heldUntilEnd(signed, caller.onEnd);
    return need.waits && caller.onEnd ? (untilEnd(signed, caller.onEnd) as Run) : signed;
  }

  return (caller: Caller, name: VerbName): Verb => {
    const need = needOf(name);
    const run = limited(caller, need, inName(caller, name, need));
    if (mayAll(caller, need)) return run;
    const narrowed: Verb = caller.everywhere
      ? run
      : narrow(caller, need, withDeadLetters(verbs, caller, need, withBatches(caller, need, run)));
    // No async function: the time that one takes is felt, and most callers are known to be right at once.
    return (request) => {
      try {
        check(caller, need, request);
        return narrowed(request);
      } catch (error) {
        return Promise.reject(error);
      }
    };
  };
}
