import type { Totals } from '../metrics/totals.ts';
import type { Db } from '../postgres/pool.ts';
import { prepared, row } from '../postgres/statements.ts';
import type { CountCache } from './countCache.ts';
import { type CountRow, countsOf, jobsIn } from './countJobs.ts';
import type { Depth, DepthBook, QueueFacts } from './depthBook.ts';

/*
 * The walk over all queues, page by page, in the order of their ids. It counts those that have no row in dibs.totals.
 */

const pageOf = prepared('metrics/queue_page', row<QueueFacts>());
const PAGE = 200;

interface Page {
  queues: QueueFacts[];
  /** What was counted of them. */
  rows: Map<number, CountRow>;
  /** The queues that are still to be counted to the end. */
  large: number[];
}

interface Walk {
  began: number;
  /** The last queue of the pages before. */
  after: number;
  page: Page | undefined;
}

export function createWalk(context: {
  db: Db;
  totals: Totals;
  cache: CountCache;
  book: DepthBook;
  /** Counts small queues, and tells which ones are large. */
  look(ids: number[]): Promise<CountRow[]>;
}) {
  const { db, totals, cache, book, look } = context;
  let walk: Walk | undefined;

  async function openPage(after: number): Promise<Page | undefined> {
    const queues = await db.query(pageOf, { after, limit: PAGE });
    if (queues.length === 0) return undefined;
    const rows = await look(queues.map(({ id }) => id).filter((id) => !totals.hasRow(id)));
    return {
      queues,
      rows: new Map(rows.map((row) => [row.id, row])),
      large: rows.filter((row) => row.cut).map((row) => row.id),
    };
  }

  function closePage({ queues, rows }: Page, began: number): void {
    const withJobs: number[] = [];
    for (const queue of queues) {
      const row = rows.get(queue.id);
      if (!row) {
        book.keep(queue.id, performance.now());
        continue;
      }
      const looked = countsOf(row);
      if (jobsIn(looked) > 0) withJobs.push(queue.id);
      const counts = (row.cut && cache.of(row.id)?.counts) || looked;
      const depth: Depth = { counts, oldestReadySeconds: row.oldest_ready_age_seconds, at: began };
      book.set(queue, depth, performance.now());
    }
    totals.propose(withJobs);
  }

  return {
    isUnderWay: (): boolean => walk !== undefined,

    /** Goes on with the walk, or begins one. False: it has come to its end. */
    async goOn(): Promise<boolean> {
      walk ??= { began: performance.now(), after: 0, page: undefined };
      const { began, after } = walk;
      if (walk.page) {
        await cache.countBatch(walk.page.large);
        walk.page.large = walk.page.large.filter((id) => (cache.of(id)?.at ?? 0) < began);
      } else {
        walk.page = await openPage(after);
      }
      const { page } = walk;
      if (!page) {
        book.walked(began);
        walk = undefined;
        return false;
      }
      if (page.large.length === 0) {
        closePage(page, began);
        walk = { began, after: page.queues.at(-1)?.id ?? after, page: undefined };
      }
      return true;
    },
  };
}
