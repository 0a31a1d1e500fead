import type { GroupsOfQueue } from './portions.ts';

/** Remembers groups that could not be advanced. */
export function createMissed(log: (error: unknown, message: string) => void) {
  const missed = new Map<number, Set<string>>();

  return {
    /** The groups were not advanced, because of this error. */
    add(error: unknown, groupsOf: GroupsOfQueue[]): void {
      log(error, 'groups were not advanced, this will be tried again');
      for (const [queueId, groups] of groupsOf)
        missed.set(queueId, new Set([...(missed.get(queueId) ?? []), ...groups]));
    },

    some: (): boolean => missed.size > 0,

    /** Gives them to be tried again, and forgets them. */
    take(): GroupsOfQueue[] {
      const groupsOf = [...missed].map(([queueId, groups]): GroupsOfQueue => [queueId, [...groups]]);
      missed.clear();
      return groupsOf;
    },
  };
}

export type Missed = ReturnType<typeof createMissed>;
