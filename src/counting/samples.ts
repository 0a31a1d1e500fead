import type { Db } from '../postgres/pool.ts';
import { planned, row } from '../postgres/statements.ts';
import { MEASURES, type Measure, type Samples, type SamplesRequest, type Series } from '../verbs/counting.ts';

/*
 * The last day of the busiest queues, minute by minute: what the charts of the dashboard show of the time before
 * somebody looked. sampler.ts writes them.
 */

/** The queue id under which all queues stand together. */
export const ALL = 0;
/** An answer has at most this number of points for each queue. */
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

const samplesOf = planned('counting/samples_read', row<SampleRow>());

const timeOf = (at: number) => new Date(at * 1000).toISOString();

/** Three digits of a rate are enough. */
const rounded = (n: number) => Number(n.toPrecision(3));

/**
 * What happened each second between two samples. A queue that lost its row and got one again has totals that begin at
 * 0.
 */
function rate(
  now: number | null | undefined,
  before: number | null | undefined,
  seconds: number,
): number | null {
  if (now === null || now === undefined || before === null || before === undefined || now < before)
    return null;
  return rounded((now - before) / seconds);
}

const NUMBERS = ['ready', 'waiting', 'leased', 'dead', 'enqueued', 'acked', 'failed', 'died'] as const;

/**
 * The rows of a queue at these points. A minute in which nothing moves is not written. So if the rows before and after
 * a gap are equal, the row before holds in the gap. If they differ, the gap is unknown.
 */
function rowsAt(rows: SampleRow[], points: number[]): (SampleRow | undefined)[] {
  let next = 0;
  return points.map((at) => {
    while (next < rows.length && (rows[next] as SampleRow).at < at) next++;
    const [before, after] = [rows[next - 1], rows[next]];
    if (!before || !after || after.at === at) return after?.at === at ? after : undefined;
    if (NUMBERS.some((number) => before[number] !== after[number])) return undefined;
    const oldest = before.oldest_ready_seconds;
    return { ...before, at, oldest_ready_seconds: oldest === null ? null : oldest + at - before.at };
  });
}

/** The series of a queue. The first of `points` is only the start of the first rate. */
function seriesOf(rows: SampleRow[], points: number[], seconds: number): Series {
  const series = Object.fromEntries(MEASURES.map((measure) => [measure, [] as (number | null)[]])) as Series;
  const found = rowsAt(rows, points);
  for (const [i, now] of found.entries()) {
    if (i === 0) continue;
    const before = found[i - 1];
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

/** The sum of series. A point that is unknown in all of them stays unknown. */
export function sumOf(all: Series[], points: number): Series {
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

/**
 * Tells the samples of the last minutes. With more than MOST_POINTS minutes, a point stands for two of them, and so on.
 */
export function createSamples({ db }: { db: Db }) {
  return async ({ minutes, queue, visible = null }: SamplesRequest): Promise<Samples> => {
    const step = Math.ceil(minutes / MOST_POINTS);
    const rows = await db.query(samplesOf, { minutes, step, queue: queue ?? null, visible });
    const last = rows.reduce((most, { at }) => Math.max(most, at), 0);
    const seconds = step * 60;
    const count = rows.length === 0 ? 0 : Math.ceil(minutes / step);
    const points = Array.from({ length: count }, (_, i) => last - (count - 1 - i) * seconds);
    const withBefore = [last - count * seconds, ...points];
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
        : [{ name, ...seriesOf(of, withBefore, seconds) }];
    });
    const everything = byQueue.get(ALL);
    return {
      at: points.map(timeOf),
      ...(queue === undefined
        ? { all: everything ? seriesOf(everything, withBefore, seconds) : sumOf(queues, points.length) }
        : {}),
      queues,
    };
  };
}
