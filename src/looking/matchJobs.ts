import { invalidRequest } from '../errors.ts';
import { isUuid } from '../ids.ts';
import type { Db } from '../postgres/pool.ts';
import { planned, row } from '../postgres/statements.ts';
import type { Queues } from '../queues/cache.ts';
import type { JobListing } from '../verbs/jobs.ts';
import { type FilterParameters, filterParameters } from './jobFilter.ts';

/*
 * Which jobs a list shows, where no index has them in its order. Each way looks at a bounded number of jobs, whatever the queue has.
 */

interface MatchedOfQueue {
  looked: number;
  last_id: string | null;
  ids: string[];
}

interface MatchedOfAll {
  stop_id: string | null;
  queue_ids: number[];
  ids: string[];
}

interface InQueue {
  queue_id: number;
  id: string;
}

const statements = {
  newest: planned('looking/match_newest', row<MatchedOfQueue>()),
  oldest: planned('looking/match_oldest', row<MatchedOfQueue>()),
  allNewest: planned('looking/match_all_newest', row<MatchedOfAll>()),
  allOldest: planned('looking/match_all_oldest', row<MatchedOfAll>()),
  leased: planned('looking/match_leased', row<InQueue>()),
  batchNewest: planned('looking/match_batch_newest', row<InQueue>()),
  batchOldest: planned('looking/match_batch_oldest', row<InQueue>()),
};

/** The first statement looks at this number of jobs: most pages are full by then. */
const FIRST_LOOK = 200;
/** Each of the others looks at this number. A request goes on for this long, and has at least one of these. */
const LOOK = 2000;
/** A look ends when the payloads that it searched have so many bytes together. */
const LOOK_BYTES = 8 * 2 ** 20;
const LOOK_AT_ALL = 20_000;
const SEARCH_MS = 30;

/** The filters that no index has. */
const SEARCHED = [
  'payload_contains',
  'fairness_key',
  'worker',
  'error_contains',
  'created_after',
  'created_before',
] as const;

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

/** Jobs by id, each in its queue. */
interface Found {
  ids: string[];
  queueIds: number[];
}

/** How many jobs were looked at, and the last of them. */
interface Looked {
  jobs: number;
  last: string | null;
}

/** `stoppedAt`: the search stopped at this id, and goes on behind it. Undefined: it came to the end. */
export type Matched = Found & { stoppedAt: string | undefined; looked?: Looked };

type Look = (
  after: string | null,
  limit: number,
  n: number,
) => Promise<Found & { next: string | null; looked?: Looked }>;

/** Looks again and again, until the page is full, there is no more, or the time is over. */
async function searchBy(
  look: Look,
  { after = null, limit }: { after?: string | null; limit: number },
): Promise<Matched> {
  const found: Found & { looked?: Looked } = { ids: [], queueIds: [] };
  const until = performance.now() + SEARCH_MS;
  for (let n = 0; ; n++) {
    const { ids, queueIds, next, looked } = await look(after, limit - found.ids.length, n);
    if (looked) found.looked = { jobs: (found.looked?.jobs ?? 0) + looked.jobs, last: looked.last ?? after };
    found.ids.push(...ids);
    found.queueIds.push(...queueIds);
    if (found.ids.length >= limit) return { ...found, stoppedAt: found.ids.at(-1) };
    if (next === null) return { ...found, stoppedAt: undefined };
    after = next;
    if (n > 0 && performance.now() > until) return { ...found, stoppedAt: next };
  }
}

/** A page of jobs that one statement found. */
function toMatched(rows: InQueue[], limit: number): Matched {
  const ids = rows.map(({ id }) => id);
  const stoppedAt = ids.length < limit ? undefined : ids.at(-1);
  return { ids, queueIds: rows.map(({ queue_id }) => queue_id), stoppedAt };
}

/** Finds the ids of a page of jobs, where no index has them in the order of the list. Undefined where one has. */
export function createMatch({ db, queues }: { db: Db; queues: Queues }) {
  async function ofQueue(listing: JobListing, name: string, filter: FilterParameters): Promise<Matched> {
    const queue = await queues.byName(name);
    if (!queue) return { ids: [], queueIds: [], stoppedAt: undefined };
    const { state = null, unique_key = null, payload_contains = null, group } = listing;
    const isByState = state !== 'ready' && state !== 'leased' && unique_key === null && group === undefined;
    return searchBy(async (after, limit, n) => {
      const look = n === 0 ? FIRST_LOOK : LOOK;
      const [found] = await db.query(statements[listing.order], {
        ...{ queue_id: queue.id, state, unique_key, payload_contains, after, look, limit },
        look_bytes: LOOK_BYTES,
        walked_state: isByState ? state : null,
        ...filter,
        ...rangeOf(filter),
      });
      const { looked, last_id, ids } = found as MatchedOfQueue;
      // Large payloads end a look, too: then only one that finds no more jobs has come to the end.
      const isEnd = payload_contains === null ? looked < look : looked === 0;
      const next = isEnd ? null : last_id;
      return { ids, queueIds: ids.map(() => queue.id), next, looked: { jobs: looked, last: last_id } };
    }, listing);
  }

  const ofAll = (listing: JobListing): Promise<Matched> =>
    searchBy(async (after, limit) => {
      const { order, state = null, group = null, unique_key = null, visible = null } = listing;
      const [found] = await db.query(statements[order === 'newest' ? 'allNewest' : 'allOldest'], {
        ...{ state, group, unique_key, visible, after, limit },
        look: LOOK_AT_ALL,
      });
      const { ids, queue_ids: queueIds, stop_id: next } = found as MatchedOfAll;
      return { ids, queueIds, next };
    }, listing);

  async function ofBatch(listing: JobListing, batch: string): Promise<Matched> {
    for (const name of ['group', 'unique_key', ...SEARCHED] as const)
      if (listing[name] !== undefined)
        throw invalidRequest([{ path: `/${name}`, message: 'must not be sent together with batch' }]);
    const { queue = null, state = null, visible = null, after = null, limit, order } = listing;
    if (!isUuid(batch)) return { ids: [], queueIds: [], stoppedAt: undefined };
    const statement = statements[order === 'newest' ? 'batchNewest' : 'batchOldest'];
    return toMatched(await db.query(statement, { batch, queue, state, visible, after, limit }), limit);
  }

  async function leased(listing: JobListing, filter: FilterParameters): Promise<Matched> {
    const { queue = null, unique_key = null, visible = null, after = null, limit, order } = listing;
    const parameters = { ...filter, queue, unique_key, visible, after, limit, newest: order === 'newest' };
    const rows = await db.query(statements.leased, parameters);
    return toMatched(rows, limit);
  }

  return async function match(listing: JobListing): Promise<Matched | undefined> {
    const { queue, state, group, unique_key, payload_contains, batch } = listing;
    if (batch !== undefined) return ofBatch(listing, batch);
    const searched = SEARCHED.find((name) => listing[name] !== undefined);
    // All leases are few, so they are searched in all queues at once. Their payloads may be large.
    const isByLease = state === 'leased' && payload_contains === undefined;
    if (searched !== undefined && queue === undefined && !isByLease)
      throw invalidRequest([{ path: '/queue', message: `is required together with ${searched}` }]);
    const filter = filterParameters(listing, '');
    if (/\p{Surrogate}/u.test(payload_contains ?? ''))
      throw invalidRequest([
        { path: '/payload_contains', message: 'must not contain half of a surrogate pair' },
      ]);
    if (isByLease) return leased(listing, filter);
    // The indexes by group and by unique key have all states. The only indexes of ready jobs are in the order of
    // claims.
    const hasIndex =
      state === undefined || (state !== 'ready' && group === undefined && unique_key === undefined);
    if (hasIndex && searched === undefined) return undefined;
    return queue === undefined ? ofAll(listing) : ofQueue(listing, queue, filter);
  };
}
