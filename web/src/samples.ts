import type { Counts, Overview, QueueOverview, Rates } from './types.ts';

/** What the charts draw. It is gathered while the page is open, and is kept in the tab. */
export interface Sample {
  /** Seconds since 1970. */
  at: number;
  ready: number;
  waiting: number;
  leased: number;
  dead: number;
  oldest: number;
  in: number | null;
  out: number | null;
  failed: number | null;
}

export const MINUTES = 10;
const KEPT_SECONDS = MINUTES * 60;
/** The queue name of all queues together. No queue can have it. */
export const ALL = '(all)';

const kept = new Map<string, Sample[]>();
/** The queue that is looked at closely, and when. Its own numbers are newer than those of the overview. */
let close = { name: '', at: 0 };
const CLOSE_SECONDS = 15;

function sampleOf(at: number, counts: Counts, oldest: number | null, rates: Rates | undefined): Sample {
  return {
    at,
    ready: counts.ready,
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
