import type { Verbs } from '../concerns.ts';
import { jobNotFound, Refusal } from '../errors.ts';
import type { Queues } from '../queues/cache.ts';
import type { Caller, OnEnd, Scope } from './caller.ts';
import { type Need, needOf, type VerbName } from './needs.ts';
import { settleVisible } from './settleVisible.ts';

const scopeMissing = (scope: Scope) =>
  new Refusal('forbidden', `This access key does not have the scope ${JSON.stringify(scope)}.`);

/** @throws Refusal `forbidden` */
export function checkScope(caller: Caller, scope: Scope): void {
  if (!caller.may(scope)) throw scopeMissing(scope);
}

/** @throws Refusal `forbidden`, before anybody looks whether the queue exists */
function checkQueues(caller: Caller, queues: Iterable<string>): void {
  for (const queue of queues)
    if (!caller.mayUse(queue))
      throw new Refusal('forbidden', `This access key may not use the queue ${JSON.stringify(queue)}.`);
}

interface Wait {
  wait_seconds?: number;
  onHangup?: ((gone: () => void) => void) | undefined;
}
type Run = (request: unknown) => Promise<unknown>;

/** Ends what a caller waits for when its key is revoked: the request is answered as if its time was over. */
const untilEnd = (run: Run, onEnd: OnEnd) => async (request: Wait & { claim?: Wait }) => {
  const wait = request.claim ?? request;
  if (!wait.wait_seconds || !wait.onHangup) return run(request);
  let forget = () => {};
  const onHangup = (gone: () => void) => {
    wait.onHangup?.(gone);
    forget = onEnd(gone);
  };
  const ended = { ...wait, onHangup };
  return run(request.claim ? { ...request, claim: ended } : ended).finally(() => forget());
};

/**
 * The verbs as one caller may use them. What each verb needs stands in needs.ts, and every protocol uses the verbs through
 * here: nothing else decides who may do what.
 */
export function guard<V extends Verbs & Record<VerbName, unknown>>(verbs: V, queues: Pick<Queues, 'ofJob'>) {
  const known = new WeakMap<Caller, Pick<V, VerbName>>();

  const mayUseJob = async (caller: Caller, id: string) => caller.mayUse((await queues.ofJob(id)).name);

  function check(caller: Caller, need: Need, request: unknown): void {
    checkScope(caller, need.scope);
    if (need.everywhere && !caller.everywhere)
      throw new Refusal('forbidden', 'This needs an access key for all queues (the pattern "*").');
    if (need.queues && !caller.everywhere) checkQueues(caller, need.queues(request));
    if (!need.followUps || (caller.everywhere && caller.may('produce'))) return;
    const into = [...need.followUps(request)];
    if (into.length > 0) checkScope(caller, 'produce');
    checkQueues(caller, into);
  }

  function guarded(caller: Caller, name: VerbName): (request: never) => Promise<unknown> {
    const need = needOf(name);
    const verb = verbs[name] as Run;
    const { own } = need;
    const isOwn = own === undefined || caller.id === undefined;
    const named = isOwn ? verb : (request: unknown) => verb(own(request, caller.id as string));
    const run = need.waits && caller.onEnd ? (untilEnd(named, caller.onEnd) as Run) : named;
    if (caller.everywhere && caller.may('admin')) return run;
    return async (request: { id: string }) => {
      check(caller, need, request);
      if (caller.everywhere) return run(request);
      if (need.job && !(await mayUseJob(caller, request.id))) throw jobNotFound(request.id);
      if (need.items) return settleVisible(request as never, run as never, (id) => mayUseJob(caller, id));
      return run(need.narrowed ? { ...request, visible: caller.visible } : request);
    };
  }

  /** The verbs for a caller. Each throws `forbidden` for what the caller may not do. */
  return (caller: Caller): Pick<V, VerbName> => {
    const before = known.get(caller);
    if (before) return before;
    const entries = (Object.keys(verbs) as VerbName[]).map((name) => [name, guarded(caller, name)]);
    const made = Object.fromEntries(entries) as Pick<V, VerbName>;
    known.set(caller, made);
    return made;
  };
}
