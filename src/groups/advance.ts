import { createBatcher } from '../batching/batcher.ts';
import type { JoinRoundTrip } from '../batching/roundTrip.ts';
import type { Arrivals } from '../floor/arrivals.ts';
import type { Db } from '../postgres/pool.ts';
import { prepared, row } from '../postgres/statements.ts';
import { textArray } from '../postgres/textArray.ts';
import type { Queue, Queues } from '../queues/cache.ts';
import type { Notifier } from '../replicas/notifier.ts';

type Found = Head & { group: string; is_head: boolean; is_new: boolean };
const statements = {
  one: prepared('groups/advance', row<Found>()),
  several: prepared('groups/advance_several', row<Found>()),
};
/** At most this number of groups of a queue goes in a statement. */
export const MOST_GROUPS = 1000;

/** A job of a group that may run. It is ready, leased, or backs off. */
export interface Head {
  id: string;
  run_at: string;
}

/** Runs the statement of an advance: in a round trip, or by itself. */
type Run = <T>(
  queueId: number,
  work: (on: { db: Db; number?: number | undefined }) => Promise<T>,
) => Promise<T>;

export type HeadsIn = (queue: Queue, groups: string[], run?: Run) => Promise<Map<string, Head[]>>;

/** Gives heads to groups of one queue. */
export function createAdvance(context: {
  joinRoundTrip: JoinRoundTrip;
  queues: Queues;
  arrivals: Arrivals;
  notifier: Notifier;
}) {
  const { joinRoundTrip, queues, arrivals, notifier } = context;

  /** The heads of these groups. Without `run`, it joins the next round trip at once. */
  const headsIn: HeadsIn = async (queue, groups, run = joinRoundTrip) => {
    const queueId = queue.id;
    const statement = queue.group_concurrency > 1 ? statements.several : statements.one;
    const heads = new Map<string, Head[]>();
    for (let left = groups; left.length > 0; ) {
      const asked = left;
      const advanceOnce = () => {
        notifier.coming(queue.name);
        return run(queueId, async ({ db, number }) => {
          const found = await db.query(statement, { queue_id: queueId, groups: textArray(asked) });
          if (found.some((row) => row.is_new)) notifier.ready(queue.name, number);
          return found;
        });
      };
      const rows = await arrivals.watch(() => [queueId], advanceOnce);
      for (const group of asked) heads.set(group, []);
      const found = new Set<string>();
      for (const row of rows)
        if (row.is_head) {
          found.add(row.id);
          heads.get(row.group)?.push(row);
        }
      // The next job was cancelled or purged at that moment, or another replica has made it a head.
      left = [...new Set(rows.filter((row) => !found.has(row.id)).map((row) => row.group))];
    }
    return heads;
  };

  /** The heads of one group. Groups of one queue share a statement. */
  const headsOf = createBatcher<string, Head[]>({
    weigh: () => 1 / MOST_GROUPS,
    maxWeight: 1,
    async run(queueId, groups) {
      const queue = await queues.byId(queueId);
      const heads = queue && (await headsIn(queue, [...new Set(groups)]));
      return groups.map((group) => heads?.get(group) ?? []);
    },
  });

  return { headsIn, headsOf };
}
