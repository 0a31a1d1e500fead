import type { Caller, OnEnd, Scope } from '../caller.ts';
import { jobNotFound, Refusal } from '../errors.ts';
import type { TracedOrigin } from '../verbs/keys.ts';
import type { VerbName, Verbs } from '../verbs.ts';
import type { Audit } from './audit.ts';
import { type Need, needOf } from './needs.ts';
import type { NewQueueLimit } from './newQueues.ts';
import { settleVisible } from './settleVisible.ts';

const scopeMissing = (scope: Scope) =>
  new Refusal('forbidden', `This access key does not have the scope ${JSON.stringify(scope)}.`);

/** @throws Refusal `forbidden` */
function checkScope(caller: Caller, scope: Scope): void {
  if (!caller.may(scope)) throw scopeMissing(scope);
}

/** @throws Refusal `forbidden`, before anybody looks whether the queue exists */
function checkQueue(caller: Caller, queue: string): void {
  if (!caller.mayUse(queue))
    throw new Refusal('forbidden', `This access key may not use the queue ${JSON.stringify(queue)}.`);
}

/** @throws Refusal `forbidden` for what the request itself says, before anything is looked up */
function check(caller: Caller, need: Need, request: unknown): void {
  checkScope(caller, need.scope);
  const also = need.also?.(request);
  if (also !== undefined) checkScope(caller, also);
  if (need.everywhere && !caller.everywhere)
    throw new Refusal('forbidden', 'This needs an access key for all queues (the pattern "*").');
  if (need.queues && !caller.everywhere) for (const queue of need.queues(request)) checkQueue(caller, queue);
  if (!need.followUps || (caller.everywhere && caller.may('produce'))) return;
  for (const queue of need.followUps(request)) {
    checkScope(caller, 'produce');
    checkQueue(caller, queue);
  }
}

/** Whether this caller may do all that a request for the verb can ask for. Then no request need be looked at. */
const mayAll = (caller: Caller, { scope, also, followUps }: Need) =>
  caller.everywhere &&
  (caller.may('admin') || (caller.may(scope) && !also && (!followUps || caller.may('produce'))));

interface Wait {
  wait_seconds?: number;
  onHangup?: ((gone: () => void) => void) | undefined;
}
type Run = (request: unknown) => Promise<unknown>;

/** Ends what a caller waits for when its key is revoked: the request is answered as if its time was over. */
const untilEnd = (run: Run, onEnd: OnEnd) => (request: Wait & { claim?: Wait }) => {
  const wait = request.claim ?? request;
  if (!wait.wait_seconds) return run(request);
  let forget = () => {};
  const onHangup = (gone: () => void) => {
    wait.onHangup?.(gone);
    forget = onEnd(gone);
  };
  const ended = { ...wait, onHangup };
  return run(request.claim ? { ...request, claim: ended } : ended).finally(() => forget());
};

const LONGEST_NAME = 256;
/** Names come from keys and tokens. PostgreSQL takes no NUL, and no half of a character. */
const nameOf = ({ name }: Caller) => Buffer.from(name.replaceAll('\0', '').slice(0, LONGEST_NAME)).toString();

/** Tells the queue of a job by its id: at once, where it is known. */
interface QueuesOfJobs {
  /** @throws Refusal `job_not_found` */
  ofJob(id: string): { name: string } | Promise<{ name: string }>;
}

type Verb = (request: never) => Promise<unknown>;

const UNKNOWN_ORIGIN: TracedOrigin = { address: null, request_id: null };

/**
 * The verbs as one caller may use them. What each verb needs stands in needs.ts, and every protocol uses the verbs through
 * here: nothing else decides who may do what, and nothing else notes who did it.
 */
export function guard(
  verbs: Verbs,
  queues: QueuesOfJobs,
  audit: Pick<Audit, 'note'>,
  limitNewQueues?: NewQueueLimit,
) {
  const known = new WeakMap<Caller, { guarded: Verbs; audited: Verbs }>();
  const names = Object.keys(verbs) as VerbName[];

  /** Whether the caller may use the queue of a job. At once, where the queue is known. @throws Refusal `job_not_found` */
  function mayUseJob(caller: Caller, id: string): boolean | Promise<boolean> {
    const queue = queues.ofJob(id);
    return queue instanceof Promise
      ? queue.then(({ name }) => caller.mayUse(name))
      : caller.mayUse(queue.name);
  }

  async function orNotFound(mayUse: boolean | Promise<boolean>, id: string): Promise<void> {
    if (!(await mayUse)) throw jobNotFound(id);
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

  function guarded(caller: Caller, name: VerbName): Verb {
    const need = needOf(name);
    const verb = verbs[name] as Run;
    const { own } = need;
    const isOwn = own === undefined || caller.id === undefined;
    const isSigned = need.signed && caller.id !== undefined;
    const takesTurns = need.looks && caller.id !== undefined;
    const named = isOwn ? verb : (request: unknown) => verb(own(request, caller.id as string));
    const by = nameOf(caller);
    const signed: Run = isSigned
      ? (request) => named({ ...(request as object), by })
      : takesTurns
        ? (request) => named({ ...(request as object), from: caller })
        : named;
    const waiting = need.waits && caller.onEnd ? (untilEnd(signed, caller.onEnd) as Run) : signed;
    const run = limited(caller, need, waiting);
    if (mayAll(caller, need)) return run;
    const allowed: Verb = caller.everywhere ? run : narrow(caller, need, run);
    // No async function: the time that one takes is felt, and most callers are known to be right at once.
    return (request) => {
      try {
        check(caller, need, request);
        return allowed(request);
      } catch (error) {
        return Promise.reject(error);
      }
    };
  }

  /** The verb, with a note of each call. A verb that is not audited stays as it is. */
  function audited(caller: Caller, origin: TracedOrigin, name: VerbName, verb: Verb): Verb {
    const { about } = needOf(name);
    if (!about) return verb;
    return async (request) => {
      const started = performance.now();
      let result: unknown;
      try {
        result = await verb(request);
      } catch (error) {
        await audit.note(caller, origin, name, about(request), started, { error });
        throw error;
      }
      await audit.note(caller, origin, name, about(request, result), started);
      return result;
    };
  }

  const each = (make: (name: VerbName) => Verb): Verbs =>
    Object.fromEntries(names.map((name) => [name, make(name)])) as unknown as Verbs;

  function knownOf(caller: Caller) {
    const before = known.get(caller);
    if (before) return before;
    const made = each((name) => guarded(caller, name));
    const both = {
      guarded: made,
      audited: each((name) => audited(caller, UNKNOWN_ORIGIN, name, made[name] as Verb)),
    };
    known.set(caller, both);
    return both;
  }

  return {
    /** The verbs for a caller. Each throws `forbidden` for what the caller may not do. */
    as: (caller: Caller): Verbs => knownOf(caller).audited,

    /**
     * The verbs for a request that asks for the verb `name`, before its body is read. Where that one is audited, `origin` stands
     * in the audit.
     * @throws Refusal `forbidden` when the caller lacks the scope
     */
    admit(caller: Caller, name: VerbName, origin?: TracedOrigin): Verbs {
      const { scope } = needOf(name);
      if (!caller.may(scope)) {
        const refusal = scopeMissing(scope);
        if (origin) void audit.note(caller, origin, name, {}, performance.now(), { error: refusal });
        throw refusal;
      }
      const of = knownOf(caller);
      if (!origin) return of.audited;
      return { ...of.audited, [name]: audited(caller, origin, name, of.guarded[name] as Verb) };
    },
  };
}
