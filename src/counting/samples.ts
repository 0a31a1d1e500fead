import type { Totals } from '../metrics/totals.ts';
import type { Db } from '../postgres/pool.ts';
import { planned, row } from '../postgres/statements.ts';
import { MEASURES, type Measure, type Samples, type SamplesRequest, type Series } from '../verbs/counting.ts';
import type { Depth, Depths } from './depths.ts';

/*
 * The last day of the busiest queues, minute by minute: what the charts of the dashboard show of the time before somebody
 * looked. One replica writes each minute (table dibs.samples). See docs/decisions/0039-samples.md.
 */

/** The queue id under which all queues stand together. */
const ALL = 0;
/** So many queues have samples: the busiest ones. */
const MOST_QUEUES = 100;
/** A replica looks this often whether somebody has written this minute, and not at once when it starts. */
const EVERY_MS = 10_000;
const MINUTE_MS = 60_000;
/** Large queues are counted for this long in a minute. */
const COUNT_MS = 500;
/** Counts that are older tell nothing of this minute. */
const OLDEST_COUNT_MS = 10 * MINUTE_MS;
/** So many points at most has an answer, for each queue. */
const MOST_POINTS = 120;

interface SampleRow {
  /** Seconds since 1970. */
  at: number;
  queue_id: number;
  name: string | null;
  ready: number | null;
  waiting: number | null;
  leased: number | null;
  dead: number | null;
  oldest_ready_seconds: number | null;
  enqueued: number | null;
  acked: number | null;
  failed: number | null;
  died: number | null;
}

const statements = {
  due: planned('counting/samples_due', row<{ is_due: boolean }>()),
  write: planned('counting/samples_write'),
  prune: planned('counting/samples_prune'),
  read: planned('counting/samples_read', row<SampleRow>()),
};

const waitingOf = ({ counts }: Depth) => counts.ready + counts.blocked + counts.scheduled;
const jobsOf = ({ counts }: Depth) => waitingOf({ counts } as Depth) + counts.leased + counts.dead;

/** The duty that writes the samples. It counts also while nobody looks, for a bounded time of each minute. */
export function createSampler({ db, totals, depths }: { db: Db; totals: Totals; depths: Depths }) {
  let restUntil = performance.now() + EVERY_MS * (1 + Math.random());

  interface Row {
    id: number;
    depth: Depth | undefined;
  }

  /** The busiest queues that have jobs or had something to do, and all together. None, when there is nothing at all. */
  function rowsOf(): Row[] {
    const isFresh = (depth: Depth | undefined) => depth && performance.now() - depth.at < OLDEST_COUNT_MS;
    const own = totals
      .rows()
      .filter(({ queue_id, name }) => queue_id > ALL && name !== null)
      .map(({ queue_id: id }) => ({ id, depth: depths.own(id), rates: totals.perSecond(id) }))
      .map(({ id, depth, rates }) => ({
        id,
        depth: isFresh(depth) ? depth : undefined,
        busy: (rates ? rates.enqueued + rates.claimed : 0) * 1000 + (depth ? jobsOf(depth) : 0),
      }))
      .filter(({ depth, busy }) => busy > 0 || !depth)
      .sort((a, b) => b.busy - a.busy);
    const others = depths.others();
    if (own.length === 0 && !(others && jobsOf(others) > 0)) return [];
    const isKnown = others && own.every(({ depth }) => depth);
    const sum = isKnown ? depths.sumOf([...own.map(({ depth }) => depth as Depth), others]) : undefined;
    return [{ id: ALL, depth: sum }, ...own.slice(0, MOST_QUEUES)];
  }

  async function write(): Promise<boolean> {
    await totals.flush();
    await depths.countNow(COUNT_MS);
    const rows = rowsOf();
    if (rows.length === 0) return false;
    const column = (of: (depth: Depth) => number | null) =>
      rows.map(({ depth }) => (depth ? of(depth) : null));
    await db.query(statements.write, {
      queue_ids: rows.map(({ id }) => id),
      ready: column(({ counts }) => counts.ready),
      waiting: column(waitingOf),
      leased: column(({ counts }) => counts.leased),
      dead: column(({ counts }) => counts.dead),
      oldest: column(({ oldestReadySeconds }) => oldestReadySeconds),
    });
    await db.query(statements.prune);
    return true;
  }

  return {
    write,

    /** The duty. */
    async run(): Promise<boolean> {
      if (performance.now() < restUntil) return false;
      restUntil = performance.now() + EVERY_MS;
      const [found] = await db.query(statements.due);
      // Where there is nothing to write, this minute has nothing to show.
      if (found?.is_due && !(await write())) restUntil = performance.now() + MINUTE_MS;
      return false;
    },
  };
}

const timeOf = (at: number) => new Date(at * 1000).toISOString();

/** Three digits say enough of a rate. */
const rounded = (n: number) => Number(n.toPrecision(3));

/** What happened in a second between two samples. Totals begin anew when a queue gets its row again. */
function rate(
  now: number | null | undefined,
  before: number | null | undefined,
  seconds: number,
): number | null {
  if (now === null || now === undefined || before === null || before === undefined || now < before)
    return null;
  return rounded((now - before) / seconds);
}

function seriesOf(rows: SampleRow[], points: number[], seconds: number): Series {
  const byTime = new Map(rows.map((row) => [row.at, row]));
  const series = Object.fromEntries(MEASURES.map((measure) => [measure, [] as (number | null)[]])) as Series;
  for (const at of points) {
    const [now, before] = [byTime.get(at), byTime.get(at - seconds)];
    series.ready.push(now?.ready ?? null);
    series.waiting.push(now?.waiting ?? null);
    series.leased.push(now?.leased ?? null);
    series.dead.push(now?.dead ?? null);
    series.oldest_ready_age_seconds.push(now?.oldest_ready_seconds ?? null);
    series.enqueued.push(rate(now?.enqueued, before?.enqueued, seconds));
    series.acked.push(rate(now?.acked, before?.acked, seconds));
    series.failed.push(rate(now?.failed, before?.failed, seconds));
    series.became_dead.push(rate(now?.died, before?.died, seconds));
  }
  return series;
}

/** The sum of series. A point that none of them knows stays unknown. */
function sumOf(all: Series[], points: number): Series {
  const add = (values: number[], measure: Measure) =>
    measure === 'oldest_ready_age_seconds' ? Math.max(...values) : values.reduce((sum, n) => sum + n, 0);
  const pointOf = (measure: Measure, i: number) => {
    const values = all.flatMap((series) => series[measure][i] ?? []);
    return values.length === 0 ? null : add(values, measure);
  };
  return Object.fromEntries(
    MEASURES.map((measure) => [measure, Array.from({ length: points }, (_, i) => pointOf(measure, i))]),
  ) as Series;
}

/** Tells the samples of the last minutes. With more than MOST_POINTS minutes, it tells each second one, and so on. */
export function createSamples({ db }: { db: Db }) {
  return async ({ minutes, queue, visible = null }: SamplesRequest): Promise<Samples> => {
    const step = Math.ceil(minutes / MOST_POINTS);
    const rows = await db.query(statements.read, { minutes, step, queue: queue ?? null, visible });
    const last = rows.reduce((most, { at }) => Math.max(most, at), 0);
    const seconds = step * 60;
    const count = rows.length === 0 ? 0 : Math.ceil(minutes / step);
    const points = Array.from({ length: count }, (_, i) => last - (count - 1 - i) * seconds);
    const byQueue = new Map<number, SampleRow[]>();
    for (const one of rows) {
      const of = byQueue.get(one.queue_id);
      if (of) of.push(one);
      else byQueue.set(one.queue_id, [one]);
    }
    const queues = [...byQueue].flatMap(([id, of]) => {
      const name = of[0]?.name;
      // A queue that was deleted has no name.
      return id === ALL || name === null || name === undefined
        ? []
        : [{ name, ...seriesOf(of, points, seconds) }];
    });
    const everything = byQueue.get(ALL);
    return {
      at: points.map(timeOf),
      ...(queue === undefined
        ? { all: everything ? seriesOf(everything, points, seconds) : sumOf(queues, points.length) }
        : {}),
      queues,
    };
  };
}
