import { setTimeout as sleep } from 'node:timers/promises';
import { isOutage, unavailable } from '../errors.ts';
import { isUuid, queueIdOf } from '../ids.ts';
import type { Verbs } from '../verbs.ts';
import type { Lead } from './lead.ts';
import { isNotFound, type WayOfJobs } from './onItsWay.ts';

/** A change waits for so long until its job arrives. */
const ARRIVES_MS = 2000;

/**
 * Changes one job by hand. One that has not arrived yet in its database arrives first. If it cannot, it may be cancelled where it
 * waits: docs/decisions/0093-jobs-on-their-way.md.
 */
export function relayedChanges(
  { find, remove, whither }: WayOfJobs,
  { toJob }: Lead,
): Pick<Verbs, 'cancelJob' | 'retryJob' | 'changeJob'> {
  /** @throws Refusal `unavailable` while the job does not arrive */
  async function untilArrived(id: string): Promise<void> {
    const relay = (await find(id))?.relay;
    if (!relay) return;
    const arrived = relay.arrive(queueIdOf(id) as number);
    await Promise.race([arrived, sleep(ARRIVES_MS, undefined, { ref: false })]);
    if (await relay.find(id))
      throw unavailable(
        `Job ${id} is still on its way to ${await whither(id)}. Nothing was done. Try again later.`,
      );
  }

  async function changeThere<T>(id: string, change: () => Promise<T>): Promise<T> {
    try {
      return await change();
    } catch (error) {
      if (!isNotFound(error) || !isUuid(id)) throw error;
      await untilArrived(id);
      return change();
    }
  }

  return {
    async cancelJob(request) {
      const { id } = request;
      try {
        return await changeThere(id, () => toJob(id, ({ verbs }) => verbs.cancelJob(request)));
      } catch (error) {
        const removed = isOutage(error) ? await remove(id) : undefined;
        if (!removed) throw error;
        return removed;
      }
    },

    retryJob: (request) =>
      changeThere(request.id, () => toJob(request.id, ({ verbs }) => verbs.retryJob(request))),

    changeJob: (request) =>
      changeThere(request.id, () => toJob(request.id, ({ verbs }) => verbs.changeJob(request))),
  };
}
