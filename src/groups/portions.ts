/** At most this number of groups is advanced by one statement. It takes some 20 ms. */
const GROUPS_TOGETHER = 250;

export type GroupsOfQueue = readonly [queueId: number, groups: string[]];

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
