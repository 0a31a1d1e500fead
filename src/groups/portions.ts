/** At most this number of groups goes in a statement. */
export const MOST_GROUPS = 1000;

export type GroupsOfQueue = readonly [queueId: number, groups: string[]];

/** Divides groups of many queues into portions for one statement each. */
export function portionsOf(queues: Iterable<GroupsOfQueue>): GroupsOfQueue[][] {
  const portions: GroupsOfQueue[][] = [];
  let portion: GroupsOfQueue[] = [];
  let count = 0;
  const close = () => {
    if (portion.length > 0) portions.push(portion);
    portion = [];
    count = 0;
  };
  for (const [queueId, groups] of queues)
    for (let at = 0; at < groups.length; at += MOST_GROUPS) {
      const some = groups.slice(at, at + MOST_GROUPS);
      if (count + some.length > MOST_GROUPS) close();
      portion.push([queueId, some]);
      count += some.length;
    }
  close();
  return portions;
}
