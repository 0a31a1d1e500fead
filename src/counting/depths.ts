import type { JobState } from '../job.ts';
import type { Totals } from '../metrics/totals.ts';
import type { Db } from '../postgres/pool.ts';
import { prepared, row } from '../postgres/statements.ts';
import { restAfter } from '../shareOfTime.ts';
import { type CountRow, createCountCache, toCounted } from './countCache.ts';

/*
 * How many jobs wait, for the metrics. A duty counts them, and only while somebody looks at the metrics. It works for SHARE of
 * the time, so a database with many jobs is counted more rarely, not at a higher price. Each number says how old it is.
 *
 * Queues with a row in dibs.totals are counted one by one: small ones at each run, large ones in turn. All the others are
 * counted page by page. Their sum is there after the last page.
 */

const pageOf = prepared('metrics/queue_page', row<Listed>());
const heldFor = prepared('metrics/horizon', row<{ seconds: number }>());

const SHARE = 1 / 50;
/** A run goes on with the walk over the other queues for this long. Runs are this far apart, or farther. */
const RUN_MS = 50;
const EVERY_MS = 4000;
/** Queues with fewer jobs are counted at each run. */
const SMALL = 2000;
const PAGE = 200;

type JobCounts = Record<JobState, number>;

export interface Depth {
  counts: JobCounts;
  oldestReadySeconds: number | null;
  /** When it was counted, on the clock of this process. */
  at: number;
}

/** A queue, as far as it shows whether something is wrong. */
export interface Listed {
  id: number;
  name: string;
  paused: boolean;
  max_leased: number | null;
  max_ready: number | null;
}

interface Page {
  queues: Map<number, Listed>;
  after: number;
  rows: CountRow[];
  /** The queues that are still to be counted to the end. */
  large: number[];
}

const NONE: JobCounts = {
  scheduled: 0,
  ready: 0,
  blocked: 0,
  leased: 0,
  completed: 0,
  cancelled: 0,
  dead: 0,
};

const older = (a: number | null, b: number | null) => (a === null ? b : b === null ? a : Math.max(a, b));

const addTo = (sum: Depth, counts: JobCounts, oldest: number | null) => {
  for (const state of Object.keys(sum.counts) as JobState[]) sum.counts[state] += counts[state];
  sum.oldestReadySeconds = older(sum.oldestReadySeconds, oldest);
};

interface Walk {
  began: number;
  after: number;
  page: Page | undefined;
  /** The queues that have jobs, and those that are paused, as they were counted. */
  found: Map<number, Found>;
}

/** A queue without a row, as the walk found it. */
export interface Found extends Listed {
  depth: Depth;
  jobs: number;
}

/** Seconds until a queue is empty, when it shrinks by so many jobs a second. Undefined while it does not shrink. */
export function drainSeconds({ counts }: Depth, shrinking: number | undefined): number | undefined {
  const left = counts.ready + counts.blocked + counts.leased;
  if (left === 0) return 0;
  return shrinking !== undefined && shrinking > 0 ? left / shrinking : undefined;
}

export function createDepths(context: { db: Db; totals: Totals; leasesFrom: () => string }) {
  const { db, totals, leasesFrom } = context;
  const cache = createCountCache(db, leasesFrom);
  let own = new Map<number, Depth>();
  let others: Depth | undefined;
  let lastFound: Map<number, Found> | undefined;
  let heldSeconds = 0;
  /** The walk over the other queues. It goes on at the next run. */
  let walk: Walk | undefined;

  const limitOf = (id: number) => ((cache.of(id)?.jobs ?? 0) > SMALL ? 0 : SMALL);

  const look = (ids: number[]): Promise<CountRow[]> =>
    ids.length === 0 ? Promise.resolve([]) : cache.countSome(ids, ids.map(limitOf));

  /** Large queues are counted in turn: one batch of them, or batches until a time. */
  async function countOwn(until: number): Promise<void> {
    const at = performance.now();
    const rows = await look(
      totals
        .rows()
        .filter((total) => total.queue_id > 0 && total.name !== null)
        .map((total) => total.queue_id),
    );
    const large = rows.filter((row) => row.cut).map((row) => row.id);
    large.sort((a, b) => (cache.of(a)?.at ?? 0) - (cache.of(b)?.at ?? 0));
    for (let left = large; left.length > 0; ) {
      await cache.countBatch(left);
      if (performance.now() >= until) break;
      left = left.filter((id) => (cache.of(id)?.at ?? 0) < at);
    }
    const found = new Map<number, Depth>();
    for (const row of rows) {
      const known = row.cut ? cache.of(row.id) : toCounted(row, at);
      const { oldest_ready_age_seconds: oldestReadySeconds } = row;
      if (known) found.set(row.id, { counts: known.counts, oldestReadySeconds, at: known.at });
    }
    own = found;
  }

  async function openPage(after: number): Promise<Page | undefined> {
    const found = await db.query(pageOf, { after, limit: PAGE });
    const last = found.at(-1)?.id;
    if (last === undefined) return undefined;
    const ids = found.map(({ id }) => id).filter((id) => !totals.hasRow(id));
    const rows = await look(ids);
    const queues = new Map(found.map((queue) => [queue.id, queue]));
    return { queues, rows, after: last, large: rows.filter((row) => row.cut).map((row) => row.id) };
  }

  function closePage({ queues, rows, after }: Page): void {
    if (!walk) return;
    for (const { id, cut, ...row } of rows) {
      const { counts, jobs } = (cut && cache.of(id)) || toCounted({ id, cut, ...row });
      const { oldest_ready_age_seconds: oldestReadySeconds } = row;
      const queue = queues.get(id) as Listed;
      const depth = { counts, oldestReadySeconds, at: walk.began };
      if (jobs > 0 || queue.paused) walk.found.set(id, { ...queue, depth, jobs });
    }
    totals.propose([...walk.found.values()].filter(({ jobs }) => jobs > 0).map(({ id }) => id));
    walk.page = undefined;
    walk.after = after;
  }

  /** The sum over the queues that a walk has found. A queue that has got a row meanwhile is told by itself. */
  function sumOf({ began, found }: Walk): Depth {
    const sum: Depth = { counts: { ...NONE }, oldestReadySeconds: null, at: began };
    for (const [id, { depth }] of found)
      if (!totals.hasRow(id)) addTo(sum, depth.counts, depth.oldestReadySeconds);
    return sum;
  }

  /** Takes a step in the walk over the queues without a row. False: the walk is over. */
  async function walkOn(): Promise<boolean> {
    walk ??= { began: performance.now(), after: 0, page: undefined, found: new Map() };
    const { page, began, after } = walk;
    if (page) {
      await cache.countBatch(page.large);
      page.large = page.large.filter((id) => (cache.of(id)?.at ?? 0) < began);
      if (page.large.length === 0) closePage(page);
      return true;
    }
    walk.page = await openPage(after);
    if (walk.page?.large.length === 0) closePage(walk.page);
    else if (!walk.page) {
      others = sumOf(walk);
      lastFound = walk.found;
      walk = undefined;
    }
    return walk !== undefined;
  }

  async function count(began: number, ms: number): Promise<void> {
    await countOwn(began + ms);
    while ((await walkOn()) && performance.now() < began + Math.max(RUN_MS, ms));
    const [held] = await db.query(heldFor, {});
    heldSeconds = held?.seconds ?? 0;
  }

  let counting: Promise<void> | undefined;
  let restUntil = 0;

  /** Counts once more, for so long, or as long as a run of the duty. If a count is under way, it waits for that one. */
  function countNow(ms = 0): Promise<void> {
    const began = performance.now();
    counting ??= count(began, ms).finally(() => {
      counting = undefined;
      const now = performance.now();
      restUntil = Math.max(walk ? 0 : now + EVERY_MS, now + restAfter(now - began, SHARE));
    });
    return counting;
  }

  return {
    countNow,

    /** The duty. */
    async run(): Promise<boolean> {
      if (totals.isWatched() && performance.now() >= restUntil) await countNow();
      return false;
    },

    own: (id: number): Depth | undefined => own.get(id),

    /** Of any queue, as it was counted last. */
    of: (id: number): Depth | undefined =>
      own.get(id) ?? walk?.found.get(id)?.depth ?? lastFound?.get(id)?.depth,

    /** Several depths together. */
    sumOf(all: Depth[]): Depth {
      const sum: Depth = { counts: { ...NONE }, oldestReadySeconds: null, at: performance.now() };
      for (const { counts, oldestReadySeconds } of all) addTo(sum, counts, oldestReadySeconds);
      return sum;
    },

    /** All queues without a row together, as of the last whole walk over them. */
    others: (): Depth | undefined => others,

    /** The queues without a row, one by one, as of the last whole walk. Undefined before its end. */
    found: (): Found[] | undefined =>
      lastFound && [...lastFound.values()].filter(({ id }) => !totals.hasRow(id)),

    /** For how long the oldest transaction has kept dead rows from being cleared. */
    heldSeconds: (): number => heldSeconds,
  };
}

export type Depths = ReturnType<typeof createDepths>;
