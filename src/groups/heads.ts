import { createBatcher } from '../batching/batcher.ts';
import type { JoinRoundTrip } from '../batching/roundTrips.ts';
import { queueIdOf } from '../ids.ts';
import type { JobState } from '../job.ts';
import type { Database } from '../postgres/pool.ts';
import { prepared, row } from '../postgres/statements.ts';
import type { Queues } from '../queues/cache.ts';
import { nextPositions } from '../queues/positions.ts';
import type { Notifier } from '../replicas/notifier.ts';

const statement = prepared(
  'groups/advance',
  row<Head & { group: string; is_head: boolean; is_new: boolean }>(),
);

/** Groups in a statement. */
const MOST = 1000;

/** The job of a group whose turn it is: ready, leased, or backing off. */
interface Head {
  id: string;
  run_at: string;
}

/** A job that a statement moved, as it is afterwards; `group` is left out by verbs that change no turns. */
export interface Moved {
  id: string;
  state: JobState;
  group?: string | null;
  run_at?: string;
}

/** A job in one of these is the head of its group still, or has not arrived yet. */
const STAYS = new Set<JobState>(['ready', 'leased', 'scheduled']);

export const needsAdvance = ({ group, state }: Moved): boolean =>
  typeof group === 'string' && !STAYS.has(state);

/**
 * Whose turn it is in each group. Whatever takes a head away or brings a job is followed, after its commit, by a look at
 * the group, in a transaction of its own: of an arrival and a departure that don't see each other, the later one looks
 * when both are there. Nobody waits for a producer's transaction. See docs/decisions/0014-groups.md.
 */
export function createGroupHeads(context: {
  db: Database;
  joinRoundTrip: JoinRoundTrip;
  queues: Queues;
  notifier: Notifier;
  log: (error: unknown, message: string) => void;
}) {
  const { db, joinRoundTrip, queues, notifier, log } = context;
  /** Groups that could not be looked at, by the ids of their queues. */
  let missed = new Map<number, Set<string>>();

  async function headsOf(queueId: number, groups: string[]): Promise<Map<string, Head>> {
    const heads = new Map<string, Head>();
    const queue = await queues.byId(queueId);
    for (let left = groups; queue && left.length > 0; ) {
      const positions = await nextPositions(db, left.length);
      notifier.coming(queue.name);
      const rows = await joinRoundTrip(queueId, async (trip) => {
        const found = await trip.db.query(statement, { queue_id: queueId, groups: left, positions });
        if (found.some((row) => row.is_new)) notifier.ready(queue.name, trip.number);
        return found;
      });
      for (const row of rows) if (row.is_head) heads.set(row.group, row);
      // What was to be the head was cancelled or purged at that moment, or made the head by another replica.
      left = [...new Set(rows.map((row) => row.group))].filter((group) => !heads.has(group));
    }
    return heads;
  }

  const lanes = createBatcher<string, Head | undefined>({
    weigh: () => 1 / MOST,
    maxWeight: 1,
    async run(queueId, groups) {
      const heads = await headsOf(queueId, [...new Set(groups)]);
      return groups.map((group) => heads.get(group));
    },
  });

  /** Gives those of the groups a head that have none, and returns the heads. What fails is tried again by `catchUp`. */
  async function advance(queueId: number, groups: Iterable<string>): Promise<Map<string, Head>> {
    const heads = new Map<string, Head>();
    const asked = [...groups];
    for (let at = 0; at < asked.length; at += MOST) {
      const some = asked.slice(at, at + MOST);
      try {
        const found = await Promise.all(some.map((group) => lanes(queueId, group)));
        for (const [i, head] of found.entries()) if (head) heads.set(some[i] as string, head);
      } catch (error) {
        log(error, 'groups could not be looked at, they will be again');
        missed.set(queueId, new Set([...(missed.get(queueId) ?? []), ...some]));
      }
    }
    return heads;
  }

  return {
    advance,

    /** Passes turns on after the commit that moved these jobs. Those that are heads now are shown to be ready. */
    async advanceAfter(jobs: Moved[]): Promise<void> {
      const turns = new Map<number, Set<string>>();
      const moved = jobs.filter(needsAdvance);
      for (const { id, group } of moved) {
        const queueId = queueIdOf(id) as number;
        turns.set(queueId, (turns.get(queueId) ?? new Set()).add(group as string));
      }
      const heads = new Map(
        await Promise.all(
          [...turns].map(async ([queueId, groups]) => [queueId, await advance(queueId, groups)] as const),
        ),
      );
      for (const job of moved) {
        const head = heads.get(queueIdOf(job.id) as number)?.get(job.group as string);
        if (job.state === 'blocked' && head?.id === job.id)
          Object.assign(job, { state: 'ready', run_at: head.run_at });
      }
    },

    /** Looks at the groups that could not be looked at when it was due. */
    async catchUp(): Promise<void> {
      const again = missed;
      missed = new Map();
      for (const [queueId, groups] of again) await advance(queueId, groups);
    },
  };
}

export type GroupHeads = ReturnType<typeof createGroupHeads>;
