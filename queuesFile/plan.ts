import { completeBackoff } from '../routes/http/json/jobBody.ts';
import { completeConfig, configBody } from '../routes/http/json/queueBody.ts';
import { QueueConfig } from '../routes/schemas/queue.ts';
import type { KeyInFile, QueueInFile, ScheduleInFile } from '../routes/schemas/queuesFile.ts';
import { DEFAULT_TIMEZONE } from '../routes/schemas/schedule.ts';
import { type DeadLetterQueueOf, endsFirst, withDeadLetterQueues } from './deadLetters.ts';
import { changesBetween, type FieldChange, fieldsOf } from './fields.ts';
import type { Wish } from './read.ts';

export interface QueueNow {
  config: QueueInFile;
  /** Where it is. Undefined where there is one database. */
  database?: string | undefined;
  /** How many jobs it has, in any state. */
  jobs: number;
}

export type ScheduleNow = ScheduleInFile & { timezone: string; paused: boolean };

export interface KeyNow {
  scopes: string[];
  queues: string[];
  /** Its end has passed. It still has its name. */
  isEnded: boolean;
}

/** What there is, by name. Sections that the file does not have are not looked at. */
export interface Now {
  queues: Map<string, QueueNow>;
  schedules: Map<string, ScheduleNow>;
  keys: Map<string, KeyNow>;
}

export interface Change {
  kind: 'queue' | 'schedule' | 'key';
  name: string;
  action: 'create' | 'change' | 'delete';
  fields: FieldChange[];
}

export interface KeyChange extends Change {
  scopes: string[];
  queues: string[];
  /** A key has the name already. A key cannot be changed, so it must be revoked first. */
  isTaken: boolean;
}

/** What must happen, so that all is as the file says. */
export interface Plan {
  /** In the order in which they are made. */
  changes: Change[];
  /** Keys that are not as the file says. Nobody but a person can change that. */
  keys: KeyChange[];
  /** Queues that would be deleted, but have jobs. */
  kept: { name: string; jobs: number }[];
  /** Queues that the file has in another database than the one where they are. */
  elsewhere: { name: string; database: string; wished: string }[];
}

const KNOWN = Object.keys(QueueConfig.properties);

/** A newer Dibs may have fields that this version does not know. */
const known = (config: object) =>
  Object.fromEntries(Object.entries(config).filter(([field]) => KNOWN.includes(field)));

function queueChanges(wished: QueueInFile, there: QueueNow | undefined): FieldChange[] {
  if (!there) return changesBetween({}, wished);
  const given = fieldsOf(wished);
  return changesBetween(known(there.config), configBody(completeConfig(wished))).map((change) =>
    change.after === undefined || given.has(change.path) ? change : { ...change, isDefault: true },
  );
}

const withQueue = (job: ScheduleInFile['job']) => ({
  queue: 'default',
  ...job,
  ...(job.backoff && { backoff: completeBackoff(job.backoff) }),
});

/** A schedule as it is after `wish` is put. `paused` stays, unless the file says it. */
export const scheduleAfter = (wish: ScheduleInFile, now: ScheduleNow | undefined): ScheduleNow => ({
  cron: wish.cron,
  timezone: wish.timezone ?? DEFAULT_TIMEZONE,
  paused: wish.paused ?? now?.paused ?? false,
  job: wish.job,
});

const comparable = (schedule: ScheduleNow) => ({ ...schedule, job: withQueue(schedule.job) });

/** In one order: that of the file means nothing. */
const grant = ({ scopes, queues = ['*'] }: { scopes: string[]; queues?: string[] | undefined }) => ({
  scopes: scopes.toSorted(),
  queues: queues.toSorted(),
});

function compare<W, N>(
  kind: Change['kind'],
  wished: Map<string, W> | undefined,
  now: Map<string, N>,
  differences: (wish: W, now: N | undefined) => FieldChange[],
): Change[] {
  return [...(wished ?? [])].flatMap(([name, wish]): Change[] => {
    const there = now.get(name);
    const fields = differences(wish, there);
    if (there === undefined) return [{ kind, name, action: 'create', fields }];
    return fields.length > 0 ? [{ kind, name, action: 'change', fields }] : [];
  });
}

function keyChanges({ keys: wished }: Wish, { keys }: Now): KeyChange[] {
  const living = new Map([...keys].filter(([, { isEnded }]) => !isEnded));
  const differences = (wish: KeyInFile, there: KeyNow | undefined) =>
    changesBetween(there ? grant(there) : {}, grant(wish));
  return compare('key', wished, living, differences).map((change) => ({
    ...change,
    ...grant(wished?.get(change.name) as KeyInFile),
    isTaken: keys.has(change.name),
  }));
}

/** The queues that a file names: also those into which its schedules enqueue. */
const queuesIn = ({ queues, schedules }: Wish) =>
  new Set([
    ...(queues?.keys() ?? []),
    ...[...(schedules?.values() ?? [])].map(({ job }) => job.queue ?? 'default'),
  ]);

/** Where dead jobs go, once all is as the file says. */
const deadLetterQueueIn =
  ({ queues: wished }: Wish, { queues }: Now): DeadLetterQueueOf =>
  (name) =>
    (wished?.get(name) ?? queues.get(name)?.config)?.dead_letter_queue;

/**
 * A dead letter queue that a queue loses could make a circle with one that another queue gets. So the queues that lose
 * theirs come first, and of those the ones to which the others lead. All else stays in the order of the file: a new dead
 * letter queue is created beside its queue, in the same database.
 */
function inOrder(changes: Change[], next: DeadLetterQueueOf): Change[] {
  const losing = new Map(
    changes
      .filter(({ fields }) =>
        fields.some(({ path, before }) => path === 'dead_letter_queue' && before !== undefined),
      )
      .map((change) => [change.name, change]),
  );
  const first = endsFirst(losing.keys(), next).flatMap((name) => losing.get(name) ?? []);
  return [...first, ...changes.filter(({ name }) => !losing.has(name))];
}

/** Queues that the file names only as dead letter queues, and that are not there. */
function missing({ queues: wished = new Map() }: Wish, { queues }: Now): Change[] {
  const names = new Set([...wished.values()].flatMap(({ dead_letter_queue }) => dead_letter_queue ?? []));
  return [...names]
    .filter((name) => !wished.has(name) && !queues.has(name))
    .map((name) => ({ kind: 'queue', name, action: 'create', fields: [] }));
}

/** A queue that stays keeps its dead letter queue: without it, its dead jobs would stay where they are. */
function deletions(wish: Wish, now: Now, next: DeadLetterQueueOf): Pick<Plan, 'changes' | 'kept'> {
  const gone = (kind: Change['kind'], names: Iterable<string>) =>
    [...names].map((name): Change => ({ kind, name, action: 'delete', fields: [] }));
  const schedules = wish.schedules
    ? [...now.schedules.keys()].filter((name) => !wish.schedules?.has(name))
    : [];
  const named = withDeadLetterQueues(queuesIn(wish), next);
  const unnamed = wish.queues ? [...now.queues].filter(([name]) => !named.has(name)) : [];
  const kept = unnamed.filter(([, { jobs }]) => jobs > 0).map(([name, { jobs }]) => ({ name, jobs }));
  const staying = withDeadLetterQueues(
    kept.map(({ name }) => name),
    next,
  );
  const empty = unnamed.map(([name]) => name).filter((name) => !staying.has(name));
  // A schedule would make its queue again.
  return { changes: [...gone('schedule', schedules), ...gone('queue', empty)], kept };
}

/** What to do, so that what there is becomes what the file says. With `prune`, what it does not name is deleted. */
export function planOf(wish: Wish, now: Now, prune: boolean): Plan {
  const next = deadLetterQueueIn(wish, now);
  const queues = inOrder(compare('queue', wish.queues, now.queues, queueChanges), next);
  const schedules = compare('schedule', wish.schedules, now.schedules, (wished: ScheduleInFile, there) =>
    changesBetween(there ? comparable(there) : {}, comparable(scheduleAfter(wished, there))),
  );
  const keys = keyChanges(wish, now);
  const { changes, kept } = prune ? deletions(wish, now, next) : { changes: [], kept: [] };
  const elsewhere = [...(wish.queues ?? [])].flatMap(([name, { database: wished }]) => {
    const database = now.queues.get(name)?.database;
    return wished !== undefined && database !== undefined && wished !== database
      ? [{ name, database, wished }]
      : [];
  });
  return { changes: [...queues, ...missing(wish, now), ...schedules, ...changes], keys, kept, elsewhere };
}

export const isDone = ({ changes, keys, elsewhere }: Plan): boolean =>
  changes.length + keys.length + elsewhere.length === 0;
