import { groupBy } from '../../../src/claim/groupBy.ts';
import { TOLERANCE_MS } from '../history.ts';
import { type Life, mayHaveDied, type Sweeps } from '../life.ts';
import { leasedTogether } from './together.ts';

/** The dead letter queue of a queue. */
type DeadLettersOf = (queue: string) => string | undefined;

const queueOf = ({ intent }: Life) => intent.spec.queue;

/** Jobs of one payload: the job that was enqueued, its dead letters, and what they became when they were sent home. */
const familiesOf = (lives: Life[]) => groupBy(lives, ({ intent }) => intent.spec.payload.tag);

const wasAcked = ({ leases }: Life) =>
  leases.some(({ settled }) => settled?.verb === 'ack' && settled.outcome === 'done');

/**
 * The jobs that became another one: a job that died has a dead letter, and that has no other time of creation when it is sent
 * home. Either may never have been seen as such: a worker whose claim got no answer, and whose lease ran out, saw nothing. But what
 * came of it, later, shows that it was there.
 */
export function movedLives(lives: Life[], deadLettersOf: DeadLettersOf): Set<Life> {
  const families = familiesOf(lives);
  const hasMoved = (life: Life) => {
    const others = families.get(life.intent.spec.payload.tag) as Life[];
    const isHome = (other: Life) => deadLettersOf(queueOf(other)) === queueOf(life);
    return others.some(
      (other) => other.created > life.created || (isHome(other) && other.created === life.created),
    );
  };
  return new Set(lives.filter(hasMoved));
}

/**
 * A job becomes at most one dead letter, after it died, and is delivered no more. Where dead letters are sent home, a job dies
 * more than once. But in no case two of them run at once.
 */
export function deadLetterViolations(
  lives: Life[],
  { homes }: Sweeps,
  deadLettersOf: DeadLettersOf,
): string[] {
  return [...familiesOf(lives)].flatMap(([tag, family]) => {
    const queue = family
      .map(queueOf)
      .map(deadLettersOf)
      .find((name) => name !== undefined);
    if (queue === undefined) return [];
    const letters = family.filter((life) => queueOf(life) === queue);
    const wrong = (what: string) => [
      `tag ${tag}, dead letter ${letters.map(({ id }) => id).join(' and ')}: ${what}`,
    ];
    const together = leasedTogether(family).flatMap(wrong);
    const [letter] = letters;
    const wentHome = homes.some(
      (home) => home.queue === queue && home.answered >= (letter?.intent.sent ?? 0),
    );
    if (!letter || wentHome) return together;
    return [
      ...together,
      ...(letters.length > 1 ? wrong('one job became both') : []),
      ...family.flatMap((life) => {
        if (queueOf(life) === queue) return [];
        if (wasAcked(life)) return wrong(`job ${life.id} was acknowledged`);
        if (life.leases.some(({ start }) => start > letter.created + TOLERANCE_MS))
          return wrong(`job ${life.id} was leased afterwards`);
        return life.found && !mayHaveDied(life) ? wrong(`job ${life.id} had not died`) : [];
      }),
    ];
  });
}
