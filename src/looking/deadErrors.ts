import type { Db } from '../postgres/pool.ts';
import { planned, row } from '../postgres/statements.ts';
import type { Queue } from '../queues/cache.ts';
import type { QueueError, QueueErrors } from '../verbs/queues.ts';

/*
 * Why the jobs of a queue are dead, grouped by their errors. Errors that differ in numbers and ids only are one.
 */

/** So many of the newest dead jobs are looked at. */
export const LOOK = 5000;
const MOST_ERRORS = 100;
/** So many parts of an error are tried as its mark. */
const MOST_PARTS = 5;

interface Line {
  error: string | null;
  jobs: number;
  newest_id: string;
  first_at: string;
  last_at: string;
}

const statement = planned('looking/dead_errors', row<Line>());

const PLACE = '#';

const isId = (word: string) => /\d/.test(word) && /^[\da-f-]+$/i.test(word);

/** The error with a `#` for each number and id. It goes word by word: so its time is in proportion to the error. */
export const withoutNumbers = (error: string): string =>
  error.replaceAll(/[\w-]+/g, (word) => (isId(word) ? PLACE : word.replaceAll(/\d+/g, PLACE)));

type Group = Omit<QueueError, 'error_contains'>;

/**
 * The part of an error by which `error_contains` finds its jobs: the one that the fewest jobs of other groups have, and
 * of these the longest. Null: the error has nothing but numbers.
 */
function markOf({ error }: Group, groups: Group[]): string | null {
  const parts = (error ?? '').split(PLACE).filter((part) => part.trim() !== '');
  parts.sort((a, b) => b.length - a.length);
  const others = groups.filter((other) => other.error !== error);
  const elsewhere = (part: string) =>
    others.reduce((sum, other) => sum + (other.error?.includes(part) ? other.count : 0), 0);
  const ranked = parts.slice(0, MOST_PARTS).map((part) => ({ part, elsewhere: elsewhere(part) }));
  ranked.sort((a, b) => a.elsewhere - b.elsewhere);
  return ranked[0]?.part ?? null;
}

function add(groups: Map<string | null, Group>, { error, jobs, newest_id, first_at, last_at }: Line): void {
  const name = error === null ? null : withoutNumbers(error);
  const known = groups.get(name);
  if (!known) groups.set(name, { error: name, count: jobs, newest_job_id: newest_id, first_at, last_at });
  else {
    known.count += jobs;
    if (newest_id > known.newest_job_id) known.newest_job_id = newest_id;
    if (first_at < known.first_at) known.first_at = first_at;
    if (last_at > known.last_at) known.last_at = last_at;
  }
}

/** The errors of the newest dead jobs of a queue, those of most jobs first. */
export async function deadErrors(db: Db, queue: Queue): Promise<QueueErrors> {
  const lines = await db.query(statement, { queue_id: queue.id, look: LOOK });
  const groups = new Map<string | null, Group>();
  for (const line of lines) add(groups, line);
  const looked_at = lines.reduce((sum, { jobs }) => sum + jobs, 0);
  const isNewer = (a: Group, b: Group) => a.newest_job_id > b.newest_job_id;
  const most = [...groups.values()]
    .sort((a, b) => b.count - a.count || (isNewer(a, b) ? -1 : 1))
    .slice(0, MOST_ERRORS);
  return {
    queue: queue.name,
    looked_at,
    complete: looked_at < LOOK && groups.size <= MOST_ERRORS,
    errors: most.map((group) => ({ ...group, error_contains: markOf(group, most) })),
  };
}
