import type { Static } from 'typebox';
import type { QueueConfig as Config, QueueStatus } from '../../../src/verbs/queues.ts';
import { DEFAULT_CONFIG, NOT_SET, type QueueConfig } from '../../schemas/queue.ts';
import { completeBackoff } from './jobBody.ts';

const CONFIG_FIELDS = Object.keys({ ...DEFAULT_CONFIG, ...NOT_SET }) as (keyof Config)[];

/** The configuration that a body asks for. What it leaves out takes its default. */
export const completeConfig = ({ database: _, ...configured }: Static<typeof QueueConfig>): Config => ({
  ...NOT_SET,
  ...DEFAULT_CONFIG,
  ...configured,
  backoff: completeBackoff(configured.backoff ?? {}),
});

/** Without what is not set, as in the body of a PUT. */
export const configBody = (config: Config): Static<typeof QueueConfig> =>
  Object.fromEntries(
    CONFIG_FIELDS.filter((field) => config[field] !== null).map((field) => [field, config[field]]),
  );

export function queueBody(status: QueueStatus) {
  const { name, paused, counts, oldest_ready_age_seconds, created_at, database, paused_groups } = status;
  const config = configBody(status);
  return { name, paused, config, counts, oldest_ready_age_seconds, created_at, database, paused_groups };
}
