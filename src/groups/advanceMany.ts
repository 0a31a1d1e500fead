import { isOutage } from '../errors.ts';
import type { Arrivals } from '../floor/arrivals.ts';
import { isLockTimeout } from '../postgres/errorClasses.ts';
import { SHORT_LOCK_WAIT_MS } from '../postgres/lockWait.ts';
import type { Database } from '../postgres/pool.ts';
import { createSemaphore } from '../postgres/semaphore.ts';
import { planned, row } from '../postgres/statements.ts';
import { inTurnOf } from '../postgres/transactions.ts';
import type { Queues } from '../queues/cache.ts';
import type { Notifier } from '../replicas/notifier.ts';
import type { HeadsIn } from './advance.ts';
import type { Missed } from './missed.ts';
import { type GroupsOfQueue, portionsOf } from './portions.ts';

const many = planned('groups/advance_many', row<{ queue_id: number }>());

/** When queues are advanced one by one, this number of them at once. */
const QUEUES_AT_ONCE = 4;

/** Makes the function that advances groups of many queues. */
export function createAdvanceMany(context: {
  db: Database;
  queues: Queues;
  arrivals: Arrivals;
  notifier: Notifier;
  missed: Missed;
  headsIn: HeadsIn;
}) {
  const { db, queues, arrivals, notifier, missed, headsIn } = context;
  const inPlace = createSemaphore(QUEUES_AT_ONCE);
  const briefly = inTurnOf(db, { tryMs: SHORT_LOCK_WAIT_MS });

  /**
   * Advances groups with one statement, which waits for no job that somebody holds. Returns how many queues got heads.
   */
  async function advanceTogether(groupsOf: GroupsOfQueue[]): Promise<number> {
    const ids = groupsOf.map(([queueId]) => queueId);
    const found = new Map(await Promise.all(ids.map(async (id) => [id, await queues.byId(id)] as const)));
    const queue_ids = groupsOf.flatMap(([queueId, groups]) => groups.map(() => queueId));
    const groups = groupsOf.flatMap(([, some]) => some);
    const advanced = await arrivals.watch(
      () => ids,
      () => briefly.query(many, { queue_ids, groups }),
    );
    for (const { queue_id } of advanced) {
      const queue = found.get(queue_id);
      if (queue) notifier.ready(queue.name);
    }
    return advanced.length;
  }

  /** The groups of queues that may have one head each, and of those that may have several. */
  async function byHeads(groupsOf: Iterable<GroupsOfQueue>) {
    const all = [...groupsOf];
    const found = await Promise.all(all.map(([queueId]) => queues.byId(queueId)));
    const hasSeveral = (_: GroupsOfQueue, i: number) => (found[i]?.group_concurrency ?? 1) > 1;
    const several = all.filter(hasSeveral);
    const one = all.filter((some, i) => !hasSeveral(some, i));
    return { one, several };
  }

  /** Advances groups of one queue. Where somebody holds a job of one of them, only that group is missed. */
  async function advanceApart(queueId: number, groups: string[]): Promise<void> {
    try {
      const queue = await queues.byId(queueId);
      if (queue) await headsIn(queue, groups, (_, work) => work({ db: briefly }));
    } catch (error) {
      if (!isLockTimeout(error) || groups.length === 1) return missed.add(error, [[queueId, groups]]);
      const half = groups.length >> 1;
      await advanceApart(queueId, groups.slice(0, half));
      await advanceApart(queueId, groups.slice(half));
    }
  }

  const oneByOne = (groupsOf: GroupsOfQueue[]) =>
    Promise.all(groupsOf.map(([queueId, groups]) => inPlace(() => advanceApart(queueId, groups))));

  /**
   * Advances groups of many queues, by the ids of the queues. It waits for no lock: a group whose next job was taken
   * away at that moment, or is held by somebody, stays without a head until the next look. Returns how many queues got
   * heads.
   */
  return async function advanceMany(groupsOf: Iterable<GroupsOfQueue>): Promise<number> {
    let advanced = 0;
    const { one, several } = await byHeads(groupsOf);
    const apart = oneByOne(portionsOf(several).flat());
    for (const some of portionsOf(one)) {
      try {
        advanced += await advanceTogether(some);
      } catch (error) {
        if (isOutage(error)) missed.add(error, some);
        // Something is wrong in one of the queues, and the statement failed for all. One by one, only that queue fails.
        else if (!isLockTimeout(error)) await oneByOne(some);
      }
    }
    return advanced + (await apart).length;
  };
}
