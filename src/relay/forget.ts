import { isOutage } from '../errors.ts';
import type { Database } from '../postgres/pool.ts';
import { planned, row } from '../postgres/statements.ts';
import type { Places } from '../queues/elsewhere.ts';

/** One run looks at so many queues. */
const LOOKED_AT = 1000;

const statements = {
  sentTo: planned('relay/sent_to', row<{ queue_id: number }>()),
  forget: planned('relay/forget'),
};

/**
 * The duty that forgets the parcels to queues that are gone. Of a queue that is there, the number of the last parcel stays: the next
 * one has a higher number, whatever the clock says.
 */
export function createForget(db: Database, { databaseOf }: Pick<Places, 'databaseOf'>) {
  let looked = 0;

  async function isGone(queueId: number): Promise<boolean> {
    try {
      return (await databaseOf(queueId, true)) === undefined;
    } catch (error) {
      if (!isOutage(error)) throw error;
      return false;
    }
  }

  return async function run(): Promise<boolean> {
    const found = await db.query(statements.sentTo, { after: looked, limit: LOOKED_AT });
    const ids = found.map(({ queue_id }) => queue_id);
    looked = ids.length < LOOKED_AT ? 0 : (ids.at(-1) as number);
    const gone = await Promise.all(ids.map(isGone));
    const queue_ids = ids.filter((_, i) => gone[i]);
    if (queue_ids.length > 0) await db.query(statements.forget, { queue_ids });
    return false;
  };
}
