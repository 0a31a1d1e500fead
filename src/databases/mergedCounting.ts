import { MOST_QUEUES } from '../counting/sampler.ts';
import { sumOf as sumOfSeries } from '../counting/samples.ts';
import { worstFirst } from '../looking/overview.ts';
import { labelled } from '../metrics/family.ts';
import { eachOf, inSlices } from '../slices.ts';
import type {
  Family,
  MetricNumber,
  MetricsAnswer,
  Overview,
  OverviewRequest,
  Samples,
  SamplesRequest,
  Series,
} from '../verbs/counting.ts';
import { MEASURES } from '../verbs/counting.ts';
import { type Answered, askAll, largestOf, type Part, sumOf } from './merged.ts';

/** All queues at a glance, each with its database. */
export function mergedGetOverview(parts: readonly Part<'getOverview'>[]) {
  return async (request: OverviewRequest): Promise<Overview> => {
    const { answers, ...away } = await askAll(parts, ({ verbs }) => verbs.getOverview(request));
    const all = answers.map(({ answer }) => answer) as [Overview, ...Overview[]];
    const numbers = (of: (overview: Overview) => number) => all.reduce((sum, one) => sum + of(one), 0);
    const drains = all.map(({ drain_seconds }) => drain_seconds);
    return {
      complete: all.every(({ complete }) => complete),
      total: numbers(({ total }) => total),
      troubled: numbers(({ troubled }) => troubled),
      counts: sumOf(all.map(({ counts }) => counts) as [Overview['counts']]),
      per_second: sumOf(all.map(({ per_second }) => per_second) as [Overview['per_second']]),
      oldest_ready_age_seconds: largestOf(all.map((one) => one.oldest_ready_age_seconds)),
      // All are empty when the last one is. Null: one does not shrink.
      drain_seconds: drains.includes(null) ? null : largestOf(drains),
      queues: answers
        .flatMap(({ name: database, answer }) => answer.queues.map((queue) => ({ ...queue, database })))
        .sort(worstFirst)
        .slice(0, request.limit),
      ...away,
    };
  };
}

/** The series with a number for each of `at`, which has other times than its own. */
function seriesAt(series: Series, own: string[], at: string[]): Series {
  const places = at.map((time) => own.indexOf(time));
  return Object.fromEntries(
    MEASURES.map((measure) => [measure, places.map((place) => series[measure][place] ?? null)]),
  ) as Series;
}

const lastOf = (numbers: (number | null)[]) => numbers.findLast((number) => number !== null) ?? 0;
const busyness = ({ enqueued, acked, waiting, leased, dead }: Series) =>
  (lastOf(enqueued) + lastOf(acked)) * 1000 + lastOf(waiting) + lastOf(leased) + lastOf(dead);

/** The busiest queues over the last minutes. The databases may have samples of other minutes. */
export function mergedGetSamples(parts: readonly Part<'getSamples'>[]) {
  return async (request: SamplesRequest): Promise<Samples> => {
    const { answers, ...away } = await askAll(parts, ({ verbs }) => verbs.getSamples(request));
    const longest = answers.reduce((most, { answer }) => Math.max(most, answer.at.length), 0);
    const times = new Set(answers.flatMap(({ answer }) => answer.at));
    const at = [...times].sort().slice(-longest);
    const queues = answers
      .flatMap(({ answer }) =>
        answer.queues.map(({ name, ...series }) => ({ name, ...seriesAt(series, answer.at, at) })),
      )
      .sort((a, b) => busyness(b) - busyness(a) || (a.name < b.name ? -1 : 1))
      .slice(0, MOST_QUEUES);
    const alls = answers.flatMap(({ answer }) => (answer.all ? [seriesAt(answer.all, answer.at, at)] : []));
    return { at, ...(alls.length > 0 ? { all: sumOfSeries(alls, at.length) } : {}), queues, ...away };
  };
}

function* merge(all: Answered<Family[]>[]): Generator<void, Family[]> {
  const families = new Map<string, Family>();
  for (const { name, answer } of all) {
    const database = labelled({ database: name });
    const withDatabase = (number: MetricNumber): MetricNumber => ({
      ...number,
      labels: number.labels === '' ? database : `${number.labels},${database}`,
    });
    yield* eachOf(answer, (family) => {
      const known = families.get(family.name);
      if (family.isOfProcess) {
        if (!known) families.set(family.name, family);
        return;
      }
      const samples = family.samples.map(withDatabase);
      if (known) known.samples = known.samples.concat(samples);
      else families.set(family.name, { ...family, samples });
    });
  }
  return [...families.values()];
}

/**
 * All metrics, each with the label `database`, but for those of the process. A database that is away tells what it knows, and
 * that it is not up.
 */
export function mergedGetMetrics(parts: readonly Part<'getMetrics'>[]) {
  return async (
    request: Parameters<Part<'getMetrics'>['verbs']['getMetrics']>[0],
  ): Promise<MetricsAnswer> => {
    const all = await Promise.all(
      parts.map(async ({ name, verbs }) => ({ name, ...(await verbs.getMetrics(request)) })),
    );
    const told = all.map(({ name, families }) => ({ name, answer: families }));
    return {
      families: await inSlices(merge(told)),
      isWhole: all.every(({ isWhole }) => isWhole),
    };
  };
}
