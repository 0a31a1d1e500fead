import type { Limits } from '../checks/limits.ts';

interface QueueConfig extends Limits {
  retention_seconds?: number;
  max_ready?: number;
  group_concurrency?: number;
  dead_letter_queue?: string;
}

/** The queues of the mixed workload. Each has one feature, the last ones have all. Dead letter queues come before others. */
export const QUEUES: Record<string, QueueConfig> = {
  plain: {},
  kept: { retention_seconds: 3600 },
  grouped: {},
  'grouped.kept': { retention_seconds: 3600 },
  'grouped.several': { group_concurrency: 3 },
  fair: {},
  replaced: {},
  'mortal.dead': {},
  mortal: { dead_letter_queue: 'mortal.dead' },
  'mortal.kept.dead': {},
  'mortal.kept': { retention_seconds: 3600, dead_letter_queue: 'mortal.kept.dead' },
  few: { max_leased: 3, max_ready: 60 },
  slow: { rate_limit: { jobs: 5, per_seconds: 1 }, max_ready: 30 },
  all: { max_leased: 6, rate_limit: { jobs: 20, per_seconds: 1 }, max_ready: 60 },
  'all.kept': {
    retention_seconds: 3600,
    max_leased: 6,
    rate_limit: { jobs: 10, per_seconds: 0.5 },
  },
};

export const QUEUE_NAMES = Object.keys(QUEUES);

/** How many jobs of a group may run at once. */
export const atOnceIn = (queue: string) => QUEUES[queue]?.group_concurrency ?? 1;
export const hasGroups = (queue: string) => /grouped|all/.test(queue);
export const isFair = (queue: string) => /fair|all/.test(queue);
/** All jobs have a key, and most of them replace the one that waits. */
export const isReplacing = (queue: string) => queue === 'replaced';
export const deadLettersOf = (queue: string) => QUEUES[queue]?.dead_letter_queue;
/** Dead letters of this queue are sent home. Those of others stay, so that each is known to come once. */
export const SENT_HOME = 'mortal.dead';
