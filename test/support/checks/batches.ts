import type { Intent } from '../life.ts';

/** A batch that an actor has made, and how it is found in the end. */
export interface MadeBatch {
  id: string;
  on_success: Intent;
  on_end: Intent;
  found?: { state: string; counts: { [state: string]: number } };
}

const FINISHED = ['completed', 'cancelled', 'dead'];
const sumOf = (counts: number[]) => counts.reduce((sum, count) => sum + count, 0);

/** A job that was seen with the payload of one that replaces may be older. */
const isThere = ({ spec, outcome, jobs }: Intent) =>
  outcome === 'done' || (jobs.size > 0 && spec.on_duplicate === undefined);

/**
 * When all is worked off, each batch has ended. It counts each of its jobs once, and each of its followers was seen once: `on_end`
 * whatever became of the jobs, `on_success` when all of them are completed.
 */
export function batchViolations(batches: MadeBatch[], intents: Intent[]): string[] {
  return batches.flatMap(({ id, on_success, on_end, found }) => {
    const wrong = (what: string) => [`batch ${id} ${what}`];
    if (!found) return wrong('is gone');
    const { state, counts } = found;
    const own = intents.filter(({ spec }) => spec.batch === id);
    const sure = own.filter(isThere).length;
    const most = sure + own.filter((one) => one.outcome === 'unknown' && !isThere(one)).length;
    const count = sumOf(Object.values(counts));
    const finished = sumOf(FINISHED.map((one) => counts[one] ?? 0));
    const hasSucceeded = finished === counts.completed;
    if (state !== (hasSucceeded ? 'succeeded' : 'ended') || finished !== count)
      return wrong(`is ${state}, and its jobs are ${JSON.stringify(counts)}`);
    if (count < sure || count > most) return wrong(`counts ${count} jobs, and has ${sure} to ${most}`);
    const expected = { on_end: 1, on_success: hasSucceeded ? 1 : 0 };
    return Object.entries({ on_end, on_success }).flatMap(([kind, { jobs }]) =>
      jobs.size === expected[kind as keyof typeof expected]
        ? []
        : wrong(`is ${state}, and its ${kind} came ${jobs.size} times: ${[...jobs].join(' and ')}`),
    );
  });
}
