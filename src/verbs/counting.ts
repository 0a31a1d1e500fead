import type { JobState } from '../job.ts';
import type { Looks, Narrowed } from './callers.ts';
import type { PartlyAway } from './databases.ts';

/**
 * What happens to jobs, and is counted: what the metric says of it, and what the overview says of its rate. An event
 * has a column in dibs.totals. Whoever sees it happen tells the tally (src/metrics/tally.ts). The rest follows from
 * this table.
 */
export const EVENT_HELP = {
  enqueued: {
    metric:
      'Jobs that requests and schedules have put into the queue. Those of dibs.enqueue in SQL are not counted.',
    rate: 'Jobs enqueued.',
  },
  deduplicated: {
    metric: 'Enqueues that were answered with the job that had their unique_key.',
    rate: 'Enqueues that were answered with the job that had their `unique_key`.',
  },
  claimed: { metric: 'Leases that were given.', rate: 'Leases given.' },
  acked: { metric: 'Jobs that were done.', rate: 'Jobs completed.' },
  nacked: {
    metric: 'Attempts that a worker said had failed.',
    rate: 'Attempts that a worker said had failed.',
  },
  released: {
    metric: 'Leases that were given back unworked, by a worker or because the consumer was gone.',
    rate: 'Leases that were released.',
  },
  rescued: { metric: 'Leases that ran out and were taken back.', rate: 'Leases that ran out.' },
  expired: {
    metric: 'Jobs whose own time was over before anybody claimed them. They are dead, too.',
    rate: 'Jobs whose own time was over before anybody claimed them.',
  },
  dead: {
    metric: 'Jobs that became dead: by a nack, a lease that ran out, or because they expired.',
    rate: 'Jobs that became dead.',
  },
};
export type Event = keyof typeof EVENT_HELP;
export const EVENTS = Object.keys(EVENT_HELP) as Event[];

/** What happened in a second, on average. */
export type PerSecond = Record<Event, number>;

/** One number of a metric, with its labels as they are written. */
export interface MetricNumber {
  /** What a histogram has behind its name. */
  suffix: '' | '_bucket' | '_sum' | '_count';
  labels: string;
  value: number;
}

/** A metric with all its numbers. */
export interface Family {
  name: string;
  type: 'counter' | 'gauge' | 'histogram';
  help: string;
  samples: MetricNumber[];
  /** Its numbers are of the process, however many databases it has. Else they are of one database. */
  isOfProcess?: true;
}

export interface MetricsAnswer {
  families: Family[];
  /** False for a caller that may see some queues only. */
  isWhole: boolean;
}

/** What may be wrong with a queue, the worst first. The API, the page and the command line say it in these words. */
export const TROUBLE_HELP = {
  dead_growing: 'Jobs became dead in the last minute.',
  failing: 'Most leases end in a failure.',
  nobody_claims: 'A job has been ready for a minute, and nothing was claimed.',
  oldest_too_old: 'A job has been ready for longer than alert_after_seconds.',
  full: 'max_ready is reached: enqueues are refused.',
  max_leased_reached: 'max_leased is reached: claims get no jobs.',
  paused: 'Claims get no jobs.',
};
export type Trouble = keyof typeof TROUBLE_HELP;
export const TROUBLES = Object.keys(TROUBLE_HELP) as Trouble[];

/** `dead_growing` as a reader sees it. */
export const troubleTitle = (trouble: string): string => trouble.replaceAll('_', ' ');

export interface QueueOverview {
  name: string;
  /** Where it is. Left out where there is one database. */
  database?: string;
  paused: boolean;
  troubles: Trouble[];
  /** Left out until it was counted. */
  counts?: Record<JobState, number>;
  counted_age_seconds: number | null;
  oldest_ready_age_seconds: number | null;
  /** Left out for a queue without a row in dibs.totals, and until there are two samples of it. */
  per_second?: PerSecond;
  drain_seconds: number | null;
}

export interface Overview extends PartlyAway {
  /** False until every queue was looked at once. */
  complete: boolean;
  /** Queues with jobs, with a row in dibs.totals, or paused. */
  total: number;
  troubled: number;
  counts: Record<JobState, number>;
  per_second: PerSecond;
  oldest_ready_age_seconds: number | null;
  drain_seconds: number | null;
  queues: QueueOverview[];
}

export interface OverviewRequest extends Narrowed {
  limit: number;
  /** Shows only this queue beside the sums. */
  queue?: string | undefined;
}

/** How much there was at the end of a minute, or how much happened in a second of it, on average. Null: not known. */
export const MEASURES = [
  'ready',
  'waiting',
  'leased',
  'dead',
  'oldest_ready_age_seconds',
  'enqueued',
  'acked',
  'failed',
  'became_dead',
] as const;
export type Measure = (typeof MEASURES)[number];
export type Series = Record<Measure, (number | null)[]>;

export interface Samples extends PartlyAway {
  /** The points of all series, in the order of time. */
  at: string[];
  /** All queues together that the caller may see. Left out, when it is about one queue. */
  all?: Series;
  queues: ({ name: string } & Series)[];
}

export interface SamplesRequest extends Narrowed, Looks {
  minutes: number;
  /** Only this queue. */
  queue?: string | undefined;
}

/**
 * How many jobs there are, and what happens to them. The first two ask the database for nothing: duties have counted.
 */
export interface CountingVerbs {
  /** All that this replica counts, and the totals of all replicas. */
  getMetrics(request: Narrowed): Promise<MetricsAnswer>;

  /** All queues at a glance, the ones with trouble first. */
  getOverview(request: OverviewRequest): Promise<Overview>;

  /** The busiest queues over the last minutes. @throws Refusal `unavailable` */
  getSamples(request: SamplesRequest): Promise<Samples>;
}
