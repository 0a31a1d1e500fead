import type { Caller, Scope } from '../caller.ts';
import { Refusal } from '../errors.ts';
import type { Need } from './needs.ts';

export const scopeMissing = (scope: Scope) =>
  new Refusal('forbidden', `This access key does not have the scope ${JSON.stringify(scope)}.`);

/** @throws Refusal `forbidden` */
function checkScope(caller: Caller, scope: Scope): void {
  if (!caller.may(scope)) throw scopeMissing(scope);
}

/** @throws Refusal `forbidden`, before anybody looks whether the queue exists */
export function checkQueue(caller: Caller, queue: string): void {
  if (!caller.mayUse(queue))
    throw new Refusal('forbidden', `This access key may not use the queue ${JSON.stringify(queue)}.`);
}

/** @throws Refusal `forbidden` for what the request itself says, before anything is looked up */
export function check(caller: Caller, need: Need, request: unknown): void {
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
export const mayAll = (caller: Caller, { scope, also, followUps }: Need) =>
  caller.everywhere &&
  (caller.may('admin') || (caller.may(scope) && !also && (!followUps || caller.may('produce'))));
