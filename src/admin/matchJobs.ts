import { invalidRequest } from '../errors.ts';
import type { Db } from '../postgres/pool.ts';
import { planned, row } from '../postgres/statements.ts';
import type { Queues } from '../queues/cache.ts';
import { type FilterParameters, filterParameters, type JobListing } from './jobFilter.ts';

interface Matched {
  looked: number;
  last_id: string | null;
  ids: string[];
}

const statements = {
  newest: planned('admin/match_newest', row<Matched>()),
  oldest: planned('admin/match_oldest', row<Matched>()),
};

/** A statement looks at this number of jobs. A request goes on with the next ones for this long. */
const LOOK = 2000;
const SEARCH_MS = 50;

/** The filters that no index has. */
const SEARCHED = ['fairness_key', 'worker', 'error_contains', 'created_after', 'created_before'] as const;

/** An id has the time at which it was made. The clocks of replicas may be this far from the database's. */
const SKEW_MS = 5 * 60_000;
/** A job has the time at which its transaction began. A transaction may stay open for this long. */
const TRANSACTION_MS = 24 * 3_600_000;
const LAST_MS = 2 ** 48 - 1;

const idAt = (ms: number, rest: '0' | 'f') => {
  const hex = Math.min(Math.max(ms, 0), LAST_MS).toString(16).padStart(12, '0') + rest.repeat(20);
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
};

const rangeOf = ({ created_after, created_before }: FilterParameters) => ({
  first_id: idAt(created_after === null ? 0 : Date.parse(created_after) - SKEW_MS, '0'),
  last_id: idAt(
    created_before === null ? LAST_MS : Date.parse(created_before) + SKEW_MS + TRANSACTION_MS,
    'f',
  ),
});

/** Finds the ids of a page of jobs by filters that no index has. Undefined when the listing has none of these. */
export function createMatch({ db, queues }: { db: Db; queues: Queues }) {
  return async function match(
    listing: JobListing,
  ): Promise<{ ids: string[]; stoppedAt: string | undefined } | undefined> {
    const searched = SEARCHED.find((name) => listing[name] !== undefined);
    if (searched === undefined) return undefined;
    if (listing.queue === undefined)
      throw invalidRequest([{ in: 'query', path: '/queue', message: `must be there beside ${searched}` }]);
    const filter = filterParameters(listing, 'query', '');
    const queue = await queues.byName(listing.queue);
    if (!queue) return { ids: [], stoppedAt: undefined };
    const ids: string[] = [];
    const until = performance.now() + SEARCH_MS;
    for (let after = listing.after ?? null; ; ) {
      const [found] = await db.query(statements[listing.order], {
        queue_id: queue.id,
        state: listing.state ?? null,
        unique_key: listing.unique_key ?? null,
        ...filter,
        ...rangeOf(filter),
        after,
        look: LOOK,
        limit: listing.limit - ids.length,
      });
      const { looked, last_id, ids: more } = found as Matched;
      ids.push(...more);
      if (ids.length >= listing.limit) return { ids, stoppedAt: ids.at(-1) };
      if (looked < LOOK) return { ids, stoppedAt: undefined };
      after = last_id;
      if (performance.now() > until) return { ids, stoppedAt: last_id ?? undefined };
    }
  };
}
