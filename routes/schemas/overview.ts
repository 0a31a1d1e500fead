import { type TArray, type TUnsafe, Type } from 'typebox';
import type { SCOPES } from '../../src/caller.ts';
import { JOB_STATES } from '../../src/job.ts';
import {
  EVENT_HELP,
  EVENTS,
  type Event,
  MEASURES,
  TROUBLE_HELP,
  TROUBLES,
} from '../../src/verbs/counting.ts';
import {
  DatabaseName,
  decimal,
  nullable,
  oneOf,
  partlyAway,
  QueueName,
  ref,
  TIME_EXAMPLE,
  time,
} from './common.ts';
import { QueueCounts } from './queue.ts';

const rates = Object.fromEntries(
  EVENTS.map((event) => [event, decimal({ description: EVENT_HELP[event].rate })]),
) as Record<Event, ReturnType<typeof decimal>>;

export const JobRates = Type.Object(rates, {
  $id: 'JobRates',
  description: 'What happens to jobs in a second, on average over the last minute, over all replicas.',
});

const seconds = (description: string) => nullable<number>('number', { format: 'double', description });
const OLDEST = 'How long the longest waiting ready job has been ready.';
const DRAIN =
  'Seconds until the queue is empty at this rate; null while it does not shrink, or is paused. The sum is without paused queues.';

export const QueueOverview = Type.Object(
  {
    name: ref(QueueName),
    database: Type.Optional(ref(DatabaseName)),
    paused: Type.Boolean({ description: 'It accepts jobs, but claims get none.' }),
    troubles: Type.Array(oneOf(TROUBLES), {
      description: [
        'The worst first.',
        ...TROUBLES.map((trouble) => `\`${trouble}\`: ${TROUBLE_HELP[trouble]}`),
      ].join(' '),
    }),
    counts: Type.Optional(ref(QueueCounts)),
    counted_age_seconds: seconds('How old the counts are.'),
    oldest_ready_age_seconds: seconds(OLDEST),
    per_second: Type.Optional(ref(JobRates)),
    drain_seconds: seconds(DRAIN),
  },
  {
    $id: 'QueueOverview',
    description:
      'A queue at a glance. `counts` is left out until it was counted; `per_second` is left out for queues without metrics ' +
      'of their own. `database` tells where it is; it is left out where there is one.',
  },
);

const MEASURE_HELP: Record<(typeof MEASURES)[number], string> = {
  ready: 'Ready jobs.',
  waiting: 'Ready, blocked and scheduled jobs.',
  leased: 'Leased jobs.',
  dead: 'Dead jobs.',
  oldest_ready_age_seconds: 'How long the longest waiting ready job had been ready.',
  enqueued: 'Jobs enqueued, per second.',
  acked: 'Jobs completed, per second.',
  failed: 'Attempts that failed, per second.',
  became_dead: 'Jobs that became dead, per second.',
};

const series = Object.fromEntries(
  MEASURES.map((measure) => [
    measure,
    Type.Array(nullable<number>('number', { format: 'double' }), { description: MEASURE_HELP[measure] }),
  ]),
) as unknown as Record<(typeof MEASURES)[number], TArray<TUnsafe<number | null>>>;
const FLAT = Object.fromEntries(MEASURES.map((measure) => [measure, [null, 0]]));

export const SampleSeries = Type.Object(series, {
  $id: 'SampleSeries',
  description: 'A number for each time of `at`; null where it is not known.',
});

export const QueueSamples = Type.Object(
  { name: ref(QueueName), ...series },
  { $id: 'QueueSamples', description: 'A queue over the last minutes: a number for each time of `at`.' },
);

export const Samples = Type.Object(
  {
    at: Type.Array(time('The end of a minute.'), { description: 'At most 120 times, the newest last.' }),
    all: Type.Optional(ref(SampleSeries)),
    queues: Type.Array(ref(QueueSamples), { description: 'The busiest queues.' }),
    ...partlyAway,
  },
  {
    $id: 'Samples',
    description:
      'The last minutes of the busiest queues. `all` has all queues together that the caller may see; it is left out with `queue`.',
    examples: [{ at: [TIME_EXAMPLE, TIME_EXAMPLE], all: FLAT, queues: [{ name: 'mail.welcome', ...FLAT }] }],
  },
);

const counts = Object.fromEntries(JOB_STATES.map((state) => [state, 0]));
const none = Object.fromEntries(EVENTS.map((event) => [event, 0]));

const CALLER = { name: 'ada', needs_key: true, scopes: ['read'], queues: ['*'] };

export const OverviewCaller = Type.Object(
  {
    name: Type.String({ description: 'The name of the access key or token.' }),
    needs_key: Type.Boolean({ description: 'False where no key is needed.' }),
    scopes: Type.Array(Type.Unsafe<(typeof SCOPES)[number]>({ type: 'string' }), {
      description: 'Its scopes. With `admin` it has all of them.',
    }),
    queues: Type.Array(Type.String(), { description: 'Its queue patterns.' }),
  },
  { $id: 'OverviewCaller', description: 'Who asks, and what it may do.', examples: [CALLER] },
);

export const Overview = Type.Object(
  {
    version: Type.String({ description: 'The version of this replica.' }),
    trace_url: nullable<string>('string', { description: 'Where to look at a trace: it has `{trace_id}`.' }),
    caller: ref(OverviewCaller),
    complete: Type.Boolean({ description: 'False while some queues were not counted yet.' }),
    total: Type.Integer({ description: 'How many queues have jobs, metrics of their own, or are paused.' }),
    troubled: Type.Integer({ description: 'How many of them have trouble.' }),
    counts: ref(QueueCounts),
    per_second: ref(JobRates),
    oldest_ready_age_seconds: seconds(OLDEST),
    drain_seconds: seconds(DRAIN),
    queues: Type.Array(ref(QueueOverview), { description: 'Those with trouble first, then the busiest.' }),
    ...partlyAway,
  },
  {
    $id: 'Overview',
    description: 'All queues at a glance.',
    examples: [
      {
        version: '0.1.0',
        trace_url: null,
        caller: CALLER,
        complete: true,
        total: 1,
        troubled: 1,
        counts: { ...counts, ready: 12, dead: 3 },
        per_second: { ...none, enqueued: 2.5, claimed: 3, acked: 2.9, nacked: 0.1, dead: 0.1 },
        oldest_ready_age_seconds: 4.2,
        drain_seconds: 24,
        queues: [
          {
            name: 'mail.welcome',
            paused: false,
            troubles: ['dead_growing'],
            counts: { ...counts, ready: 12, dead: 3 },
            counted_age_seconds: 1.5,
            oldest_ready_age_seconds: 4.2,
            per_second: { ...none, enqueued: 2.5, claimed: 3, acked: 2.9, nacked: 0.1, dead: 0.1 },
            drain_seconds: 24,
          },
        ],
      },
    ],
  },
);
