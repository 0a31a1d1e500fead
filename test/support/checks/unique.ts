import { groupBy } from '../../../src/claim/groupBy.ts';
import { TOLERANCE_MS } from '../history.ts';
import {
  bornBy,
  finishedBy,
  type Intent,
  type Life,
  mayHaveComeBack,
  type Sweeps,
  unfinishedUntil,
} from '../life.ts';
import { leasedTogether } from './together.ts';

const keyOf = ({ spec }: Intent) => `key ${spec.unique_key} of ${spec.queue}`;

/** Until when `unique_for_seconds` keep the key of a job that was enqueued at `from`. */
const keptUntil = ({ spec }: Intent, from: number) => from + (spec.unique_for_seconds ?? 0) * 1000;

/** A key has one unfinished job at a time, and no new job within its window. */
export function uniqueViolations(lives: Life[], intents: Intent[], sweeps: Sweeps): string[] {
  const withKey = lives.filter(({ intent }) => intent.spec.unique_key !== undefined);
  const found: string[] = [];
  for (const [key, jobs] of groupBy(withKey, ({ intent }) => keyOf(intent))) {
    found.push(...leasedTogether(jobs).map((together) => `${key}: ${together}`));
    for (const [i, a] of jobs.entries())
      for (const b of jobs.slice(i + 1))
        if (bothThere(a, b, sweeps) || createdBeside(a, b, sweeps) || createdBeside(b, a, sweeps))
          found.push(`${key}: jobs ${a.id} and ${b.id} had it at once`);
        else if (createdTooSoon(a, b) || createdTooSoon(b, a))
          found.push(`${key}: jobs ${a.id} and ${b.id} came within the time for which it is kept`);
  }
  return [...found, ...wronglyNamed(lives, intents, sweeps)];
}

function bothThere(a: Life, b: Life, sweeps: Sweeps): boolean {
  if (mayHaveComeBack(a, sweeps) || mayHaveComeBack(b, sweeps)) return false;
  const born = Math.max(bornBy(a), bornBy(b));
  return born < Math.min(unfinishedUntil(a), unfinishedUntil(b)) - TOLERANCE_MS;
}

const createdBeside = (first: Life, second: Life, sweeps: Sweeps): boolean =>
  !mayHaveComeBack(first, sweeps) &&
  bornBy(first) < second.intent.sent &&
  bornBy(second) < unfinishedUntil(first) - TOLERANCE_MS;

const createdTooSoon = (first: Life, second: Life): boolean =>
  bornBy(first) < second.intent.sent &&
  bornBy(second) < keptUntil(first.intent, first.created) - TOLERANCE_MS;

/** A deduplicated enqueue names a job that has the key. */
function wronglyNamed(lives: Life[], intents: Intent[], sweeps: Sweeps): string[] {
  const byId = new Map(lives.map((life) => [life.id, life]));
  return intents.flatMap((intent) => {
    const named = intent.named === undefined ? undefined : byId.get(intent.named);
    if (!named) return [];
    if (keyOf(named.intent) !== keyOf(intent))
      return [`${keyOf(intent)}: job ${named.id} was named, which has ${keyOf(named.intent)}`];
    const free = Math.max(finishedBy(named, sweeps), keptUntil(named.intent, bornBy(named)));
    return free < intent.sent - TOLERANCE_MS
      ? [`${keyOf(intent)}: job ${named.id} was named, which was finished by then`]
      : [];
  });
}
