import { get, Problem, query } from './api.ts';
import type { JobRates, Overview, QueueCounts, QueueOverview, SampleSeries, Samples } from './types.ts';

/** What the charts draw: minutes that Dibs has noted, and what the page has seen since it is open. It is kept in the tab. */
export interface Sample {
  /** Seconds since 1970. */
  at: number;
  waiting: number | null;
  leased: number | null;
  dead: number | null;
  oldest: number | null;
  in: number | null;
  out: number | null;
  failed: number | null;
}

export const MINUTES = 60;
const KEPT_SECONDS = MINUTES * 60;
/** Samples that are older than this are kept this far apart: a line has some hundred points, whatever the page has seen. */
const FINE_SECONDS = 300;
const COARSE_SECONDS = 20;
/** After a longer gap, Dibs is asked for what was in it. */
const BEHIND_SECONDS = 150;
/** The queue name of all queues together. No queue can have it. */
export const ALL = '(all)';

const kept = new Map<string, Sample[]>();
/** The queue that is looked at closely, and when. Its own numbers are newer than those of the overview. */
let close = { name: '', at: 0 };
const CLOSE_SECONDS = 15;

function sampleOf(
  at: number,
  counts: QueueCounts,
  oldest: number | null,
  rates: JobRates | undefined,
): Sample {
  return {
    at,
    waiting: counts.ready + counts.blocked + counts.scheduled,
    leased: counts.leased,
    dead: counts.dead,
    oldest: oldest ?? 0,
    in: rates?.enqueued ?? null,
    out: rates?.acked ?? null,
    failed: rates ? rates.nacked + rates.rescued : null,
  };
}

function add(name: string, sample: Sample): void {
  const of = kept.get(name) ?? [];
  of.push(sample);
  while (of.length > 0 && (of[0] as Sample).at < sample.at - KEPT_SECONDS) of.shift();
  // The first sample that is no longer fine stays, if it is far enough from the one before.
  const old = of.findIndex(({ at }) => at >= sample.at - FINE_SECONDS) - 1;
  if (old > 0 && (of[old] as Sample).at - (of[old - 1] as Sample).at < COARSE_SECONDS) of.splice(old, 1);
  kept.set(name, of);
}

export function note(overview: Overview): void {
  const at = Date.now() / 1000;
  for (const queue of overview.queues)
    if (queue.name !== close.name || at > close.at + CLOSE_SECONDS) noteOne(queue, at);
  // Before all queues were counted, the sum would begin with a jump.
  if (overview.complete)
    add(ALL, sampleOf(at, overview.counts, overview.oldest_ready_age_seconds, overview.per_second));
  for (const [name, samples] of kept)
    if ((samples.at(-1) as Sample).at < at - KEPT_SECONDS) kept.delete(name);
}

function noteOne(
  queue: Pick<QueueOverview, 'name' | 'counts' | 'oldest_ready_age_seconds' | 'per_second'>,
  at: number,
): void {
  if (!queue.counts) return;
  add(queue.name, sampleOf(at, queue.counts, queue.oldest_ready_age_seconds, queue.per_second));
}

export const samplesOf = (name: string): Sample[] => kept.get(name) ?? [];

/** Another key may see other queues. */
export const forgetSamples = (): void => kept.clear();

type Noted = Parameters<typeof noteOne>[0];

export function noteQueue(queue: Noted): void {
  const at = Date.now() / 1000;
  close = { name: queue.name, at };
  noteOne(queue, at);
}

/** What Dibs has noted of a queue, from the first minute with numbers on. */
function samplesIn(times: number[], series: SampleSeries): Sample[] {
  const all = times.map((at, i): Sample => {
    const number = (measure: keyof SampleSeries) => series[measure][i] ?? null;
    return {
      at,
      waiting: number('waiting'),
      leased: number('leased'),
      dead: number('dead'),
      // No job was ready.
      oldest: number('oldest_ready_age_seconds') ?? (number('ready') === 0 ? 0 : null),
      in: number('enqueued'),
      out: number('acked'),
      failed: number('failed'),
    };
  });
  const isKnown = ({ at: _, ...values }: Sample) => Object.values(values).some((value) => value !== null);
  const begin = all.findIndex(isKnown);
  // A minute without numbers in between is a gap in the line.
  return begin < 0 ? [] : all.slice(begin);
}

function noteBefore(name: string, times: number[], series: SampleSeries): void {
  const of = kept.get(name) ?? [];
  const first = of[0]?.at ?? Number.POSITIVE_INFINITY;
  const before = samplesIn(times, series).filter(({ at }) => at < first);
  if (before.length > 0) kept.set(name, [...before, ...of]);
}

async function ask(minutes: number, queue: string | undefined) {
  const { body } = await get<Samples>(`overview/samples${query({ minutes, queue })}`);
  return { ...body, times: body.at.map((at) => Date.parse(at) / 1000) };
}

/** What Dibs has noted of a queue, or of all. */
export async function samplesSince(minutes: number, name: string): Promise<Sample[]> {
  const { times, all, queues } = await ask(minutes, name === ALL ? undefined : name);
  const series = name === ALL ? all : queues.find((one) => one.name === name);
  return series ? samplesIn(times, series) : [];
}

/** Nobody looked for a while, or Dibs was away. */
export const isBehind = (): boolean =>
  (kept.get(ALL)?.at(-1)?.at ?? Infinity) < Date.now() / 1000 - BEHIND_SECONDS;

/** Asks for the last hour before the page was opened: of the busiest queues, or of one. */
export async function askForBefore(queue?: string): Promise<void> {
  try {
    const { times, all, queues } = await ask(MINUTES, queue);
    if (all) noteBefore(ALL, times, all);
    for (const { name, ...series } of queues) noteBefore(name, times, series);
  } catch (error) {
    // The charts begin now: Dibs is away, or an older one.
    if (!(error instanceof Problem)) throw error;
  }
}
