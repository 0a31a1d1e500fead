import { groupBy } from '../../../src/claim/groupBy.ts';
import { TOLERANCE_MS } from '../history.ts';
import { bornBy, isDelayed, type Life, mayHaveComeBack, type Sweeps, unfinishedUntil } from '../life.ts';
import { tooManyAtOnce } from './limits.ts';
import { type Hold, later, leasedTogether, NOBODY } from './together.ts';

/** When a job was certainly leased for the first time. */
const firstTaken = ({ leases }: Life) =>
  Math.min(Number.POSITIVE_INFINITY, ...leases.map((lease) => lease.taken));

/** When a job was certainly in its group. A delayed job comes into its group when it is promoted, one for another database when it arrives. */
const enteredBy = (life: Life) => (isDelayed(life.intent) ? firstTaken(life) : bornBy(life));

/**
 * The jobs of a group are leased one at a time, in their order of arrival, each after the end of the jobs before it. Or as
 * many at once as their queue allows.
 */
export function groupViolations(
  lives: Life[],
  sweeps: Sweeps,
  atOnceIn: (queue: string) => number = () => 1,
): string[] {
  const grouped = lives.filter(({ intent }) => intent.spec.group !== undefined);
  const groups = groupBy(grouped, ({ intent: { spec } }) => `${spec.group} of ${spec.queue}`);
  const violationsOf = (jobs: Life[]): string[] => {
    const atOnce = atOnceIn(jobs[0]?.intent.spec.queue ?? '');
    if (atOnce === 1) return [...leasedTogether(jobs), ...overtaken(jobs, sweeps)];
    const leases = jobs.flatMap((life) => life.leases);
    return tooManyAtOnce(leases, atOnce);
  };
  return [...groups].flatMap(([name, jobs]) => violationsOf(jobs).map((found) => `group ${name}: ${found}`));
}

function overtaken(jobs: Life[], sweeps: Sweeps): string[] {
  const found: string[] = [];
  const look = (life: Life, before: Hold) => {
    if (firstTaken(life) < before.until - TOLERANCE_MS)
      found.push(`job ${life.id} was leased though job ${before.by}, which came before it, was unfinished`);
  };
  const holdOf = (life: Life): Hold =>
    mayHaveComeBack(life, sweeps) ? NOBODY : { until: unfinishedUntil(life), by: life.id };

  const earlier = jobs.toSorted((a, b) => enteredBy(a) - enteredBy(b));
  let before = NOBODY;
  let next = 0;
  for (const life of jobs.toSorted((a, b) => a.intent.sent - b.intent.sent)) {
    for (let one = earlier[next]; one && enteredBy(one) < life.intent.sent; one = earlier[++next])
      before = later(before, holdOf(one));
    look(life, before);
  }
  for (const request of groupBy(jobs, ({ intent }) => intent.request).values()) {
    let inRequest = NOBODY;
    for (const life of request.toSorted((a, b) => a.intent.index - b.intent.index)) {
      look(life, inRequest);
      if (!isDelayed(life.intent)) inRequest = later(inRequest, holdOf(life));
    }
  }
  return found;
}
