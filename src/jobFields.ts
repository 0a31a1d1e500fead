/*
 * The fields of a job. `npm run generate` makes fragments of sql/shared/ of them. Rows, answers, exports, the command line and
 * the page go over them in loops. What a job has besides is in docs/architecture.md, "Where do I change ...?".
 */

type Type =
  | 'uuid'
  | 'text'
  | 'smallint'
  | 'integer'
  | 'bigint'
  | 'double precision'
  | 'boolean'
  | 'timestamptz'
  | 'dibs.job_state'
  /** Goes as the text that was sent, everywhere. */
  | 'json';

interface Column {
  type: Type;
  /** Whether it can be null. */
  isOptional?: true;
  /** What it is called outside of the table. */
  as?: string;
  /** Whether the verb `changeJob` sets it as it is sent. */
  isChanged?: true;
  /** Whether all statements that answer jobs have it. A statement that needs another column names it itself. */
  isAlwaysRead?: true;
  /** Why no answer shows it. */
  hidden?: string;
  /** Whether an import puts in something else than what the export has: the ids, batches and positions of its own database. */
  isMapped?: true;
  /** Why it is not in an export. */
  stays?: string;
  /** What it was, in SQL, before there was this column: exports of an older Dibs do not have it. */
  before?: string;
}

/** All columns of dibs.jobs. */
export const COLUMNS = {
  id: { type: 'uuid', isAlwaysRead: true, isMapped: true },
  priority: { type: 'smallint', isAlwaysRead: true, isChanged: true },
  attempt: { type: 'integer', isAlwaysRead: true },
  max_attempts: { type: 'integer', isAlwaysRead: true, isChanged: true },
  deliveries: { type: 'integer', isAlwaysRead: true },
  run_at: { type: 'timestamptz', isAlwaysRead: true },
  created_at: { type: 'timestamptz', isAlwaysRead: true },
  group_key: { type: 'text', isOptional: true, as: 'group', isAlwaysRead: true },
  fairness_key: { type: 'text', isOptional: true, isAlwaysRead: true },
  unique_key: { type: 'text', isOptional: true, isAlwaysRead: true },
  batch_id: {
    type: 'uuid',
    isOptional: true,
    as: 'batch',
    isAlwaysRead: true,
    isMapped: true,
  },
  lease_expires_at: { type: 'timestamptz', isOptional: true, isAlwaysRead: true },
  worker: { type: 'text', isOptional: true, isAlwaysRead: true },
  last_error: { type: 'text', isOptional: true, isAlwaysRead: true },
  headers: { type: 'json', isAlwaysRead: true, isChanged: true },
  progress: { type: 'json', isOptional: true, isAlwaysRead: true },

  queue_id: { type: 'integer', as: 'queue', isMapped: true },
  state: { type: 'dibs.job_state' },
  finished_at: { type: 'timestamptz', isOptional: true },
  result: { type: 'json', isOptional: true },
  payload: { type: 'json' },
  moved_to: { type: 'uuid', isOptional: true, isMapped: true },

  position: { type: 'bigint', isMapped: true, hidden: 'It says nothing without those of other jobs.' },
  is_head: { type: 'boolean', hidden: '`explainJob` says what a job of a group waits for.' },
  head_place: {
    type: 'smallint',
    hidden: 'It tells heads of a group apart.',
    before: '1',
  },
  own_key: { type: 'text', isOptional: true, hidden: 'It is the `unique_key` whenever the job holds it.' },
  is_paused: { type: 'boolean', isOptional: true, hidden: '`getQueue` tells which groups are paused.' },
  backoff: { type: 'json', isOptional: true, hidden: 'The API takes it, and does not show it.' },
  expires_at: {
    type: 'timestamptz',
    isOptional: true,
    hidden: 'The API takes `expires_in_seconds`, and does not show when that is over.',
  },
  lease_token: { type: 'uuid', isOptional: true, hidden: 'Only the claimant may know it.' },
  leased_at: { type: 'timestamptz', isOptional: true, hidden: '`getJobHistory` shows it.' },
  cancel_requested: { type: 'boolean', hidden: '`extend` tells the worker.' },
  enqueued: { type: 'json', isOptional: true, hidden: 'A repeat of the ack or nack is answered with it.' },

  payload_bytes: {
    type: 'integer',
    hidden: 'The payload says it.',
    stays: 'An import measures the payload.',
  },
  awaited_until: {
    type: 'timestamptz',
    isOptional: true,
    hidden: 'A client waits at one replica.',
    stays: 'Clients wait at the old database.',
  },
  counted: {
    type: 'boolean',
    hidden: 'Claim limits count by it.',
    stays: 'The new database counts the leases that it finds.',
  },
  claim_id: {
    type: 'text',
    isOptional: true,
    hidden: 'Only its claimant knows it.',
    stays: 'A claim is repeated at the database that has answered it.',
  },
  claim_holder: {
    type: 'uuid',
    isOptional: true,
    hidden: 'It goes with claim_id.',
    stays: 'It goes with claim_id.',
  },
  lease_seconds: {
    type: 'double precision',
    isOptional: true,
    hidden: 'A repeat of the claim shows it.',
    stays: 'It goes with claim_id.',
  },
  session_id: {
    type: 'uuid',
    isOptional: true,
    hidden: 'Only its claimant knows it.',
    stays: 'An export has no sessions.',
  },
} as const satisfies Record<string, Column>;

export type ColumnName = keyof typeof COLUMNS;

export const columnNames = Object.keys(COLUMNS) as ColumnName[];
export const columnOf = (name: ColumnName): Column => COLUMNS[name];
/** What a column is called outside of the table. */
export const nameOf = (name: ColumnName): string => columnOf(name).as ?? name;

interface Attribute {
  type: Type;
  /** The parameter that has it of many jobs. */
  many: string;
  /** Whether the column of this name takes it as it is. */
  isColumn?: true;
  /** Whether few requests say it. The parameter is null when no job of a statement has it. */
  isRare?: true;
}

/** What a new job is made of: the attributes of the type dibs.new_job, in its order. */
export const NEW_JOB = {
  id: { type: 'uuid', many: 'ids' },
  delay_seconds: { type: 'double precision', many: 'delays' },
  run_at: { type: 'timestamptz', many: 'run_ats' },
  priority: { type: 'smallint', many: 'priorities', isColumn: true },
  max_attempts: { type: 'integer', many: 'max_attempts', isColumn: true },
  backoff: { type: 'json', many: 'backoffs', isColumn: true, isRare: true },
  headers: { type: 'json', many: 'headers', isColumn: true },
  payload: { type: 'json', many: 'payloads', isColumn: true },
  unique_key: { type: 'text', many: 'unique_keys', isColumn: true, isRare: true },
  unique_for_seconds: { type: 'double precision', many: 'windows', isRare: true },
  group_key: { type: 'text', many: 'groups', isColumn: true, isRare: true },
  fairness_key: { type: 'text', many: 'fairness_keys', isColumn: true, isRare: true },
  expires_in_seconds: { type: 'double precision', many: 'expiries', isRare: true },
  awaited_seconds: { type: 'double precision', many: 'waits' },
} as const satisfies Record<string, Attribute>;

/** What an idempotency key keeps of a job: the attributes of the type dibs.kept_job, in its order. */
export const KEPT_JOB = [
  'id',
  'queue',
  'state',
  'priority',
  'attempt',
  'max_attempts',
  'deliveries',
  'group',
  'fairness_key',
  'unique_key',
  'run_at',
  'created_at',
  'headers',
  'lease_expires_at',
  'finished_at',
  'worker',
  'last_error',
  'progress',
  'result',
  'payload',
  'deduplicated',
] as const;

/** The columns that a change sets as they are sent. */
export const CHANGED = columnNames.filter((name) => columnOf(name).isChanged);

/** The fields of answers that are not in `known`: for whoever shows some fields in a way of their own. */
export const otherFields = (known: object): string[] =>
  columnNames
    .filter((name) => columnOf(name).hidden === undefined)
    .map(nameOf)
    .filter((name) => !(name in known));
