import type { AccessKey, BatchState, JobState } from '../../clients/typescript/src/generated.ts';

/** What the API answers, as the TypeScript client knows it. Types only: none of its code is in the page. */
export type {
  AccessKey,
  AuditDetails,
  AuditEntry,
  AuditPage,
  Batch,
  BatchExplanation,
  BatchPage,
  Database,
  Databases,
  Explanation,
  HistoryEvent,
  Job,
  JobHistory,
  JobPage,
  JobRates,
  JobState,
  KeyPage,
  MadeKey,
  Operation,
  OperationPage,
  Overview,
  OverviewCaller as Caller,
  Queue,
  QueueConfig,
  QueueCounts,
  QueueErrors,
  QueueExplanation,
  QueueOverview,
  QueuePage,
  SampleSeries,
  Samples,
  Schedule,
  SchedulePage,
  Workers,
} from '../../clients/typescript/src/generated.ts';

export type Scope = AccessKey['scopes'][number];

export const STATES = [
  'scheduled',
  'ready',
  'blocked',
  'leased',
  'completed',
  'cancelled',
  'dead',
] as const satisfies JobState[];

export const BATCH_STATES = ['open', 'running', 'succeeded', 'ended'] as const satisfies BatchState[];
