import type { BulkThrottle } from '../batching/bulkThrottle.ts';
import { FIRST_ID } from '../ids.ts';
import type { JobState } from '../job.ts';
import type { Db } from '../postgres/pool.ts';
import { planned } from '../postgres/statements.ts';

const outlived = planned('maintenance/prunable');
const forget = planned('maintenance/prune_jobs');

interface Outlived {
  queue_id: number;
  state: JobState;
  retention_seconds: number;
  /** The last one deleted. */
  after: string[];
}

interface Forgotten {
  count: number;
  last: string[] | null;
}

/** Deletes finished jobs that outlived their queue's retention. */
export function pruneJobs({ db, throttle }: { db: Db; throttle: BulkThrottle }): () => Promise<boolean> {
  const chunk = throttle.chunks();
  let left: Outlived[] = [];

  return async () => {
    if (left.length === 0) {
      const found = await db.query<Omit<Outlived, 'after'>>(outlived);
      left = found.map((one) => ({ ...one, after: ['-infinity', FIRST_ID] }));
    }
    const [first] = left;
    if (!first) return false;
    const rows = await chunk(async (size) => {
      const asked = [first.queue_id, first.state, first.retention_seconds, ...first.after, size];
      const [row] = (await db.query<Forgotten>(forget, asked)) as [Forgotten];
      first.after = row.last ?? first.after;
      return row.count;
    });
    if (rows === 0) left.shift();
    return left.length > 0;
  };
}
