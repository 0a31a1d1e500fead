import type { JoinRoundTrip } from '../batching/roundTrip.ts';
import { queueIdOf } from '../ids.ts';
import type { JobState } from '../job.ts';
import { prepared, row } from '../postgres/statements.ts';
import { textArray } from '../postgres/textArray.ts';
import type { Notifier } from '../replicas/notifier.ts';

const statement = prepared('groups/lead', row<{ id: string }>());

/** A job as it was inserted, or the one that holds its key. */
interface Inserted {
  id: string;
  queue: string;
  state: JobState;
  group: string | null;
  deduplicated?: true;
}

/** The jobs that may lead their groups: the first blocked one of each, by queue. */
function firstOfGroups(jobs: Inserted[]): Map<number, Inserted[]> {
  const firsts = new Map<number, Map<string, Inserted>>();
  for (const job of jobs) {
    if (job.group === null || job.state !== 'blocked' || job.deduplicated) continue;
    const queueId = queueIdOf(job.id) as number;
    const own = firsts.get(queueId) ?? new Map<string, Inserted>();
    if (!own.has(job.group)) own.set(job.group, job);
    firsts.set(queueId, own);
  }
  return new Map([...firsts].map(([queueId, own]) => [queueId, [...own.values()]]));
}

const byId = (a: Inserted, b: Inserted) => (a.id < b.id ? -1 : 1);

/**
 * Makes jobs the heads of groups that are empty, right after the commit that inserted them. An advance would do so too, but give
 * them new positions: behind jobs without a group that came after them. Here they keep theirs. So it runs within the `watch`
 * (src/floor/arrivals.ts) of the insert. Sets those that are heads now to `ready`.
 */
export function createLead({
  joinRoundTrip,
  notifier,
}: {
  joinRoundTrip: JoinRoundTrip;
  notifier: Pick<Notifier, 'coming' | 'ready'>;
}) {
  return async (jobs: Inserted[]): Promise<void> => {
    const inQueue = async ([queue_id, firsts]: [number, Inserted[]]) => {
      const asked = firsts.toSorted(byId);
      const parameters = {
        queue_id,
        ids: asked.map(({ id }) => id),
        groups: textArray(asked.map(({ group }) => group as string)),
      };
      const name = (asked[0] as Inserted).queue;
      notifier.coming(name);
      const rows = await joinRoundTrip(queue_id, async (trip) => {
        const led = await trip.db.query(statement, parameters);
        if (led.length > 0) notifier.ready(name, trip.number);
        return led;
      });
      const led = new Set(rows.map(({ id }) => id));
      for (const job of asked) if (led.has(job.id)) job.state = 'ready';
    };
    // The jobs are committed. When this fails, the advance after it gives the groups their heads.
    await Promise.allSettled([...firstOfGroups(jobs)].map(inQueue));
  };
}

export type Lead = ReturnType<typeof createLead>;
