import { callOf } from '../postgres/pipeline.ts';
import type { Database } from '../postgres/pool.ts';
import { planned, prepared, row } from '../postgres/statements.ts';
import type { Parcel, RelayedJob } from './receive.ts';

/** The most jobs of a parcel, and about the most bytes of their payloads and headers. */
const MOST = 500;
const MOST_BYTES = 4 * 2 ** 20;

interface Found extends RelayedJob {
  queue: string;
  number: number;
}

const statements = {
  begin: prepared('relay/begin'),
  parcel: prepared('relay/parcel', row<Found>()),
  end: prepared('relay/end'),
  drop: planned('relay/drop', row<{ count: number }>()),
};

/**
 * The parcels from this database. Each takes three commits: it is begun here, it arrives there (receive.ts), and it ends here.
 * A replica that dies between two of them leaves it under way. Whoever comes next sends the same jobs under the same number.
 */
export function createParcels({ db, self }: { db: Database; self: string }) {
  return {
    /** Ends the parcel `before`. Returns the one that is under way then. Undefined when nothing waits for the queue. */
    async next(queueId: number, before?: Parcel): Promise<Parcel | undefined> {
      const queue_id = queueId;
      const end = before && {
        queue_id,
        number: before.number,
        places: before.jobs.map(({ place }) => place),
      };
      const found = await db.pipeline([
        ...(end ? [callOf(statements.end, end)] : []),
        callOf(statements.begin, { queue_id, most: MOST, most_bytes: MOST_BYTES }),
        callOf(statements.parcel, { queue_id }),
      ]);
      const rows = found.at(-1) as unknown as Found[];
      const [first] = rows;
      if (!first) return undefined;
      return {
        source: self,
        queueId,
        queue: first.queue,
        number: first.number,
        readAt: performance.now(),
        // A parcel whose jobs are gone has one row, of nulls.
        jobs: rows.filter(({ place }) => place !== null),
      };
    },

    /** A queue is gone. What waits for it goes with it. */
    async drop(queueId: number): Promise<void> {
      for (let count = MOST; count === MOST; ) {
        const [dropped] = await db.query(statements.drop, { queue_id: queueId, limit: MOST });
        count = dropped?.count ?? 0;
      }
    },
  };
}

export type Parcels = ReturnType<typeof createParcels>;
