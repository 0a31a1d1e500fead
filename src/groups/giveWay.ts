import type { JoinRoundTrip } from '../batching/roundTrip.ts';
import type { Arrivals } from '../floor/arrivals.ts';
import type { JobState } from '../job.ts';
import { prepared } from '../postgres/statements.ts';
import { textArray } from '../postgres/textArray.ts';
import type { Queues } from '../queues/cache.ts';
import type { Notifier } from '../replicas/notifier.ts';
import { groupsByQueue } from './portions.ts';

const statement = prepared('groups/give_way');

/** A job as it came back. */
interface Back {
  id: string;
  state: JobState;
  group?: string | null;
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
    const ready = jobs.filter(({ state }) => state === 'ready');
    await Promise.all(
      Array.from(groupsByQueue(ready), ([queueId, groups]) =>
        inQueue(queueId, groups).catch((error) =>
          log(error, 'heads of groups did not give way to jobs that came back'),
        ),
      ),
    );
  };
}
