import type { JoinRoundTrip } from '../batching/roundTrip.ts';
import type { Arrivals } from '../floor/arrivals.ts';
import { queueIdOf } from '../ids.ts';
import type { JobState } from '../job.ts';
import { prepared } from '../postgres/statements.ts';
import { textArray } from '../postgres/textArray.ts';
import type { Queues } from '../queues/cache.ts';
import type { Notifier } from '../replicas/notifier.ts';

const statement = prepared('groups/give_way');

/** A job as it came back. */
interface Back {
  id: string;
  state: JobState;
  group?: string | null;
}

/** The groups of the ready jobs among these, by queue. */
function groupsOfReady(jobs: Back[]): Map<number, Set<string>> {
  const groupsOf = new Map<number, Set<string>>();
  for (const { id, state, group } of jobs) {
    if (state !== 'ready' || typeof group !== 'string') continue;
    const queueId = queueIdOf(id) as number;
    groupsOf.set(queueId, (groupsOf.get(queueId) ?? new Set()).add(group));
  }
  return groupsOf;
}

/**
 * After the commit that brought heads back: where a group may have several heads, those that nobody has begun give way to
 * them. See docs/decisions/0104-groups-with-several-heads.md.
 */
export function createGiveWay(context: {
  joinRoundTrip: JoinRoundTrip;
  queues: Queues;
  arrivals: Arrivals;
  notifier: Pick<Notifier, 'ready'>;
  log: (error: unknown, message: string) => void;
}) {
  const { joinRoundTrip, queues, arrivals, notifier, log } = context;

  async function inQueue(queue_id: number, groups: Set<string>): Promise<void> {
    const queue = await queues.byId(queue_id);
    if (!queue || queue.group_concurrency === 1) return;
    const asked = { queue_id, groups: textArray([...groups]) };
    await arrivals.watch(
      () => [queue_id],
      () => joinRoundTrip(queue_id, ({ db }) => db.query(statement, asked)),
    );
    notifier.ready(queue.name);
  }

  return async (jobs: Back[]): Promise<void> => {
    const groupsOf = groupsOfReady(jobs);
    if (groupsOf.size === 0) return;
    await Promise.all(
      Array.from(groupsOf, ([queueId, groups]) =>
        inQueue(queueId, groups).catch((error) =>
          log(error, 'heads of groups did not give way to jobs that came back'),
        ),
      ),
    );
  };
}
