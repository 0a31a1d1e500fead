import { Type } from 'typebox';
import { nextCursor, nullable, nullableTime, ref, ScheduleName, TIME_EXAMPLE, text } from './common.ts';
import { JobSpec } from './job.ts';

export const DEFAULT_TIMEZONE = 'UTC';

const cron = text(256, {
  description:
    'When it ticks: five fields (minute, hour, day of month, month, day of week), or six with the second first. Each ' +
    'takes `*`, numbers, names (`JAN`, `MON`), lists `1,15`, ranges `1-5` and steps `0-59/10`; a day of the month also ' +
    '`L` (the last one) and `15W` (the weekday next to it), a day of the week `MON#1` (the first in the month) and ' +
    '`FRI#L` (the last). A day of the month and one of the week are two ways to tick. Both must hold where ' +
    'one of them begins with `*`, also with a step, or that of the week with `+`.',
  examples: ['30 6 * * MON-FRI'],
});
const ZONE = 'The time zone whose clocks it goes by, as the IANA database names it.';
const zone = { examples: ['Europe/Berlin'] };
const paused = (description: string) => Type.Boolean({ description });

const IGNORED = 'Ignored: a schedule that was read can be put back as it is.';

const SPEC_EXAMPLE = {
  cron: '30 6 * * MON-FRI',
  timezone: 'Europe/Berlin',
  job: { queue: 'reports', payload: { kind: 'daily' }, max_attempts: 3 },
};

export const ScheduleSpec = Type.Object(
  {
    cron,
    timezone: Type.Optional(text(64, { ...zone, description: `${ZONE} Default: ${DEFAULT_TIMEZONE}.` })),
    paused: Type.Optional(
      paused('It does not tick. Ticks that it misses are not made up for. Default: false.'),
    ),
    job: ref(JobSpec),
    name: Type.Optional(ref(ScheduleName)),
    next_run_at: Type.Optional(nullableTime(IGNORED)),
    last_run_at: Type.Optional(nullableTime(IGNORED)),
    last_error: Type.Optional(nullable<string>('string', { description: IGNORED })),
    retry_at: Type.Optional(nullableTime(IGNORED)),
  },
  {
    $id: 'ScheduleSpec',
    additionalProperties: false,
    description:
      'A schedule to create or replace. Its job is what `POST /jobs` takes, without `run_at`; `delay_seconds` counts ' +
      'from the tick on. The times, `name` and `last_error` are ignored: so a schedule that was read can be put back.',
    examples: [SPEC_EXAMPLE],
  },
);

const SCHEDULE_EXAMPLE = {
  name: 'reports.daily',
  ...SPEC_EXAMPLE,
  paused: false,
  next_run_at: TIME_EXAMPLE,
  last_run_at: null,
  last_error: null,
  retry_at: null,
};

export const Schedule = Type.Object(
  {
    name: ref(ScheduleName),
    cron,
    timezone: Type.String({ ...zone, description: ZONE }),
    paused: paused('It does not tick.'),
    job: ref(JobSpec),
    next_run_at: nullableTime('Its next tick; null while it is paused.'),
    last_run_at: nullableTime('Its last tick; null before the first. A manual trigger does not count.'),
    last_error: nullable<string>('string', {
      description:
        'Why its job was refused at its last tick, for example because the queue is full. Null when the tick was taken.',
    }),
    retry_at: nullableTime('When the tick that was refused is tried again. Null when none was.'),
  },
  {
    $id: 'Schedule',
    description: 'A schedule: at each tick of its cron, one job goes into its queue.',
    examples: [SCHEDULE_EXAMPLE],
  },
);

export const SchedulePage = Type.Object(
  {
    schedules: Type.Array(ref(Schedule), { description: 'The schedules.' }),
    ...nextCursor,
  },
  {
    $id: 'SchedulePage',
    description: 'A page of schedules.',
    examples: [{ schedules: [SCHEDULE_EXAMPLE], next_cursor: null }],
  },
);
