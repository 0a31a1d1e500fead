import { type Static, type TSchema, Type } from 'typebox';
import { QueueName, ref, ScheduleName } from './common.ts';
import { JobSpec } from './job.ts';
import { NewKey } from './key.ts';
import { QueueConfig } from './queue.ts';
import { ScheduleSpec } from './schedule.ts';

/** Of queues, of schedules and of keys. */
export const MOST_ENTRIES = 10_000;

const { run_at: _, batch: __, ...jobFields } = JobSpec.properties;
const { cron, timezone } = ScheduleSpec.properties;
const { scopes, queues } = NewKey.properties;

export const FileQueue = QueueConfig;

export const FileSchedule = Type.Object(
  {
    cron,
    timezone,
    paused: Type.Optional(
      Type.Boolean({
        description:
          'It does not tick. When this is left out, a schedule stays as it is: paused or not. A new one is not paused.',
      }),
    ),
    job: Type.Object(jobFields, {
      additionalProperties: false,
      description:
        'The job of each tick. `queue` is `default` when left out; `delay_seconds` counts from the tick on.',
    }),
  },
  {
    additionalProperties: false,
    description: 'A schedule: at each tick of its cron, one job goes into its queue.',
  },
);

export const FileKey = Type.Object(
  { scopes, queues },
  {
    additionalProperties: false,
    description:
      'What an access key of this name must be able to do. Its secret is never in the file, and `dibs apply` creates no key: it tells the command that does.',
  },
);

/** Entries by their names. */
const section = <S extends TSchema>(name: object, entry: object, description: string) =>
  Type.Unsafe<Record<string, Static<S>>>({
    type: 'object',
    propertyNames: name,
    additionalProperties: entry,
    maxProperties: MOST_ENTRIES,
    description,
  });

const fileOf = (queue: object, schedule: object, key: object) =>
  Type.Object(
    {
      queues: Type.Optional(
        section<typeof FileQueue>(
          ref(QueueName),
          queue,
          'The queues, by name, with their configurations. `{}` is a queue with the defaults.',
        ),
      ),
      schedules: Type.Optional(
        section<typeof FileSchedule>(ref(ScheduleName), schedule, 'The schedules, by name.'),
      ),
      keys: Type.Optional(
        section<typeof FileKey>(NewKey.properties.name, key, 'The access keys that must exist, by name.'),
      ),
    },
    {
      additionalProperties: false,
      description:
        'How the queues, schedules and access keys of a Dibs should be. A section that is left out is not looked at.',
    },
  );

/** A file, its entries not looked into. */
export const QueuesFileFrame = fileOf({}, {}, {});

export const QueuesFile = fileOf(ref(FileQueue), FileSchedule, FileKey);

export type QueueInFile = Static<typeof FileQueue>;
export type ScheduleInFile = Static<typeof FileSchedule>;
export type KeyInFile = Static<typeof FileKey>;
