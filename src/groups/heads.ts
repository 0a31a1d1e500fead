import { createBatcher } from '../batching/batcher.ts';
import type { JoinRoundTrip } from '../batching/roundTrip.ts';
import { isOutage } from '../errors.ts';
import type { Arrivals } from '../floor/arrivals.ts';
import { queueIdOf } from '../ids.ts';
import type { JobState } from '../job.ts';
import { isLockTimeout } from '../postgres/errorClasses.ts';
import { SHORT_LOCK_WAIT_MS } from '../postgres/lockWait.ts';
import type { Database } from '../postgres/pool.ts';
import { createSemaphore } from '../postgres/semaphore.ts';
import { planned, prepared, row } from '../postgres/statements.ts';
import { textArray } from '../postgres/textArray.ts';
import { inTurnOf } from '../postgres/transactions.ts';
import type { Queue, Queues } from '../queues/cache.ts';
import type { Notifier } from '../replicas/notifier.ts';
import { type GroupsOfQueue, portionsOf } from './portions.ts';

const statement = prepared(
  'groups/advance',
  row<Head & { group: string; is_head: boolean; is_new: boolean }>(),
);
const many = planned('groups/advance_many', row<{ queue_id: number }>());

/** At most this number of groups of a queue goes in a statement. */
const MOST_GROUPS = 1000;

const waiting = prepared('groups/waiting', row<{ group: string }>());

/** When queues are advanced one by one, this number of them at once. */
const QUEUES_AT_ONCE = 4;

const TRIED_AGAIN = 'groups were not advanced, this will be tried again';

/** The job of a group that may run. It is ready, leased, or backs off. */
interface Head {
  id: string;
  run_at: string;
}

/** A job that a statement moved, as it is afterwards. Verbs that change no group heads leave out `group`. */
export interface Moved {
  id: string;
  state: JobState;
  group?: string | null;
  run_at?: string;
  /** The advance of its group, if one has begun since the commit that moved it. */
  advanced?: Promise<unknown> | undefined;
}

/** A job in one of these states is still the head of its group, or does not wait in the group yet. */
const KEEPS_HEAD = new Set<JobState>(['ready', 'leased', 'scheduled']);

export const needsAdvance = ({ group, state }: Moved): boolean =>
  typeof group === 'string' && !KEEPS_HEAD.has(state);

/**
 * Advances groups. A transaction that takes a head away, or brings a job, is followed by one that looks at the group and
 * gives it a head if it has none. When a job comes and a head goes in two transactions that do not see each other, the
 * later of the two looks sees both. Nobody waits for a producer's transaction. See docs/decisions/0014-groups.md.
 */
export function createGroupHeads(context: {
  db: Database;
  joinRoundTrip: JoinRoundTrip;
  queues: Queues;
  arrivals: Arrivals;
  notifier: Notifier;
  log: (error: unknown, message: string) => void;
}) {
  const { db, joinRoundTrip, queues, arrivals, notifier, log } = context;
  const inPlace = createSemaphore(QUEUES_AT_ONCE);
  /** Groups that could not be advanced, by the ids of their queues. */
  const missed = new Map<number, Set<string>>();

  /** The heads of these groups. It joins the next round trip at once. */
  async function headsIn(queue: Queue, groups: string[]): Promise<Map<string, Head>> {
    const queueId = queue.id;
    const heads = new Map<string, Head>();
    for (let left = groups; left.length > 0; ) {
      const asked = left;
      const advanceOnce = () => {
        notifier.coming(queue.name);
        return joinRoundTrip(queueId, async (trip) => {
          const found = await trip.db.query(statement, { queue_id: queueId, groups: textArray(asked) });
          if (found.some((row) => row.is_new)) notifier.ready(queue.name, trip.number);
          return found;
        });
      };
      const rows = await arrivals.watch(() => [queueId], advanceOnce);
      for (const row of rows) if (row.is_head) heads.set(row.group, row);
      // The next job was cancelled or purged at that moment, or another replica has made it the head.
      left = [...new Set(rows.map((row) => row.group))].filter((group) => !heads.has(group));
    }
    return heads;
  }

  const batched = createBatcher<string, Head | undefined>({
    weigh: () => 1 / MOST_GROUPS,
    maxWeight: 1,
    async run(queueId, groups) {
      const queue = await queues.byId(queueId);
      const heads = queue && (await headsIn(queue, [...new Set(groups)]));
      return groups.map((group) => heads?.get(group));
    },
  });

  const miss = (queueId: number, groups: string[]) =>
    missed.set(queueId, new Set([...(missed.get(queueId) ?? []), ...groups]));

  /** Gives a head to those of the groups that have none. Returns the heads. `catchUp` tries again what fails. */
  async function advance(queueId: number, groups: Iterable<string>): Promise<Map<string, Head>> {
    const heads = new Map<string, Head>();
    const asked = [...groups];
    for (let at = 0; at < asked.length; at += MOST_GROUPS) {
      const some = asked.slice(at, at + MOST_GROUPS);
      try {
        const found = await Promise.all(some.map((group) => batched(queueId, group)));
        for (const [i, head] of found.entries()) if (head) heads.set(some[i] as string, head);
      } catch (error) {
        log(error, TRIED_AGAIN);
        miss(queueId, some);
      }
    }
    return heads;
  }

  /** Advances groups with one statement, which waits for no job that somebody holds. Returns how many queues got heads. */
  async function advanceTogether(groupsOf: GroupsOfQueue[]): Promise<number> {
    const ids = groupsOf.map(([queueId]) => queueId);
    const found = new Map(await Promise.all(ids.map(async (id) => [id, await queues.byId(id)] as const)));
    const queue_ids = groupsOf.flatMap(([queueId, groups]) => groups.map(() => queueId));
    const groups = groupsOf.flatMap(([, some]) => some);
    const advanceAll = () => inTurnOf(db, { tryMs: SHORT_LOCK_WAIT_MS }).query(many, { queue_ids, groups });
    const advanced = await arrivals.watch(() => ids, advanceAll);
    for (const { queue_id } of advanced) {
      const queue = found.get(queue_id);
      if (queue) notifier.ready(queue.name);
    }
    return advanced.length;
  }

  const oneByOne = (groupsOf: GroupsOfQueue[]) =>
    Promise.all(groupsOf.map(([queueId, groups]) => inPlace(() => advance(queueId, groups))));

  /**
   * Advances groups of many queues, by the ids of the queues. It waits for no lock: a group whose next job was taken away at
   * that moment, or is held by somebody, stays without a head until the next look. Returns how many queues got heads.
   */
  async function advanceMany(groupsOf: Iterable<GroupsOfQueue>): Promise<number> {
    let advanced = 0;
    for (const some of portionsOf(groupsOf)) {
      try {
        advanced += await advanceTogether(some);
      } catch (error) {
        if (isOutage(error)) {
          log(error, TRIED_AGAIN);
          for (const [queueId, groups] of some) miss(queueId, groups);
        } else if (!isLockTimeout(error)) {
          // Something is wrong in one of the queues, and the statement failed for all. One by one, only that queue fails.
          await oneByOne(some);
        }
      }
    }
    return advanced;
  }

  return {
    advance,
    advanceMany,

    /**
     * Advances those of the groups of one queue that have blocked jobs, after the commit that took their heads. It looks in the
     * next round trip, if it is called before that begins. At most MOST_GROUPS.
     */
    async advanceWaiting(queue: Queue, groups: string[]): Promise<void> {
      try {
        const asked = { queue_id: queue.id, groups: textArray(groups) };
        const found = await joinRoundTrip(queue.id, ({ db: on }) => on.query(waiting, asked));
        await headsIn(
          queue,
          found.map(({ group }) => group),
        );
      } catch (error) {
        log(error, TRIED_AGAIN);
        miss(queue.id, groups);
      }
    },

    /** Advances the groups of these jobs, after the commit that moved them. Sets the jobs that are heads now to `ready`. */
    async advanceAfter(jobs: Moved[]): Promise<void> {
      const moved = jobs.filter(needsAdvance);
      if (moved.length === 0) return;
      const groupsOf = new Map<number, Set<string>>();
      for (const { id, group } of moved) {
        const queueId = queueIdOf(id) as number;
        groupsOf.set(queueId, (groupsOf.get(queueId) ?? new Set()).add(group as string));
      }
      const heads = new Map(
        await Promise.all(
          [...groupsOf].map(async ([queueId, groups]) => [queueId, await advance(queueId, groups)] as const),
        ),
      );
      for (const job of moved) {
        const head = heads.get(queueIdOf(job.id) as number)?.get(job.group as string);
        if (job.state === 'blocked' && head?.id === job.id)
          Object.assign(job, { state: 'ready', run_at: head.run_at });
      }
    },

    /** Advances the groups that could not be advanced before. */
    async catchUp(): Promise<void> {
      const again = [...missed].map(([queueId, groups]): GroupsOfQueue => [queueId, [...groups]]);
      missed.clear();
      await advanceMany(again);
    },
  };
}

export type GroupHeads = ReturnType<typeof createGroupHeads>;
