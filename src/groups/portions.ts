import { queueIdOf } from '../ids.ts';

/** At most this number of groups is advanced by one statement. It takes some 20 ms. */
const GROUPS_TOGETHER = 250;

export type GroupsOfQueue = readonly [queueId: number, groups: string[]];

/** The groups of these jobs, by queue. A job without a group has none. */
export function groupsByQueue(jobs: { id: string; group?: string | null }[]): Map<number, Set<string>> {
  const groupsOf = new Map<number, Set<string>>();
  for (const { id, group } of jobs) {
    if (typeof group !== 'string') continue;
    const queueId = queueIdOf(id) as number;
    groupsOf.set(queueId, (groupsOf.get(queueId) ?? new Set()).add(group));
  }
  return groupsOf;
}

/** Divides groups of many queues into portions for one statement each. */
export function portionsOf(queues: Iterable<GroupsOfQueue>): GroupsOfQueue[][] {
  const portions: GroupsOfQueue[][] = [];
  let free = 0;
  for (const [queueId, groups] of queues)
    for (let at = 0; at < groups.length; ) {
      if (free === 0) {
        portions.push([]);
        free = GROUPS_TOGETHER;
      }
      const some = groups.slice(at, at + free);
      portions.at(-1)?.push([queueId, some]);
      at += some.length;
      free -= some.length;
    }
  return portions;
}
