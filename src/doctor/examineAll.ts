import { HOME } from '../config/databases.ts';
import { isOutage } from '../errors.ts';
import { causeOf } from '../postgres/outageLog.ts';
import { type Examined, examine, isServable } from './examine.ts';
import { type Finding, problem } from './finding.ts';
import { examineTogether, type Found } from './several.ts';

/** A database beside home. */
export interface OtherExamined extends Examined {
  name: string;
}

/** One that does not answer is a finding: the others are looked at all the same. */
async function examineOne(name: string, examined: Examined): Promise<Finding[]> {
  return examine(examined).catch((error) => {
    if (!isOutage(error)) throw error;
    return [
      problem(
        'reachable',
        `The database does not answer: ${causeOf(error.cause)}.`,
        'Its queues are answered 503. Others are served.',
        `Start it, or mend the URL of "${name}".`,
      ),
    ];
  });
}

/**
 * Looks at all databases of a Dibs, at each by itself and at all together. With one of them, it is `examine`.
 * @throws Refusal `unavailable` when the only database, or each of several, cannot be reached
 */
export async function examineAll(home: Examined, others: OtherExamined[]): Promise<Found[]> {
  const isAlone = others.length === 0;
  const found: Found[] = [];
  const servable: OtherExamined[] = [];
  for (const one of [{ ...home, name: HOME }, ...others]) {
    const { name } = one;
    const findings = await (isAlone ? examine(one) : examineOne(name, one));
    found.push(...(isAlone ? findings : findings.map((finding) => ({ ...finding, database: name }))));
    if (isServable(findings)) servable.push(one);
  }
  const [first, ...rest] = servable;
  if (first?.name !== HOME) return found;
  const given = others.map(({ name }) => name);
  return [...found, ...(await examineTogether({ url: first.url, others: rest }, given))];
}
