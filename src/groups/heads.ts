import type { JoinRoundTrip } from '../batching/roundTrip.ts';
import type { Arrivals } from '../floor/arrivals.ts';
import { queueIdOf } from '../ids.ts';
import type { JobState } from '../job.ts';
import type { Database } from '../postgres/pool.ts';
import { prepared, row } from '../postgres/statements.ts';
import { textArray } from '../postgres/textArray.ts';
import type { Queue, Queues } from '../queues/cache.ts';
import type { Notifier } from '../replicas/notifier.ts';
import { createAdvance, type Head, MOST_GROUPS } from './advance.ts';
import { createAdvanceMany } from './advanceMany.ts';
import { createLead } from './lead.ts';
import { createMissed } from './missed.ts';
import { groupsByQueue } from './portions.ts';

const waiting = prepared('groups/waiting', row<{ group: string }>());

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
 * Advances groups. A transaction that takes a head away, or brings a job, is followed by one that looks at the group
 * and gives it a head if it has none, or as many as the queue allows. When a job comes and a head goes in two transactions that do not see each other,
 * the later of the two looks sees both. Nobody waits for a producer's transaction. See docs/decisions/0014-groups.md.
 */
export function createGroupHeads(context: {
  db: Database;
  joinRoundTrip: JoinRoundTrip;
  queues: Queues;
  arrivals: Arrivals;
  notifier: Notifier;
  log: (error: unknown, message: string) => void;
}) {
  const { joinRoundTrip, log } = context;
  const missed = createMissed(log);
  const { headsIn, headsOf } = createAdvance(context);
  const advanceMany = createAdvanceMany({ ...context, missed, headsIn });

  /** Gives heads to those of the groups that lack some. Returns the heads. `catchUp` tries again what fails. */
  async function advance(queueId: number, groups: Iterable<string>): Promise<Map<string, Head[]>> {
    const heads = new Map<string, Head[]>();
    const asked = [...groups];
    for (let at = 0; at < asked.length; at += MOST_GROUPS) {
      const some = asked.slice(at, at + MOST_GROUPS);
      try {
        const found = await Promise.all(some.map((group) => headsOf(queueId, group)));
        for (const [i, own] of found.entries()) heads.set(some[i] as string, own);
      } catch (error) {
        missed.add(error, [[queueId, some]]);
      }
    }
    return heads;
  }

  return {
    advance,
    advanceMany,
    lead: createLead(context),

    /**
     * Advances those of the groups of one queue that have blocked jobs, after the commit that took their heads. It
     * looks in the next round trip, if it is called before that begins. At most MOST_GROUPS.
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
        missed.add(error, [[queue.id, groups]]);
      }
    },

    /**
     * Advances the groups of these jobs, after the commit that moved them. Sets the jobs that are heads now to `ready`.
     */
    async advanceAfter(jobs: Moved[]): Promise<void> {
      const moved = jobs.filter(needsAdvance);
      if (moved.length === 0) return;
      const groupsOf = [...groupsByQueue(moved)];
      const heads = new Map(
        await Promise.all(
          groupsOf.map(async ([queueId, groups]) => [queueId, await advance(queueId, groups)] as const),
        ),
      );
      for (const job of moved) {
        const own = heads.get(queueIdOf(job.id) as number)?.get(job.group as string);
        const head = own?.find(({ id }) => id === job.id);
        if (job.state === 'blocked' && head) Object.assign(job, { state: 'ready', run_at: head.run_at });
      }
    },

    hasMissed: missed.some,

    /** Advances the groups that could not be advanced before. */
    async catchUp(): Promise<void> {
      await advanceMany(missed.take());
    },
  };
}

export type GroupHeads = ReturnType<typeof createGroupHeads>;
