import type { Spec } from '../life.ts';
import { deadLettersOf, hasGroups, isFair, isReplacing, QUEUE_NAMES, SENT_HOME } from './queues.ts';
import type { Random } from './random.ts';

let tags = 0;

/** A random job. */
export function anySpec(random: Random, queue = random.oneOf(QUEUE_NAMES)): Spec {
  const { chance, oneOf, integer, between } = random;
  const spec: Spec = {
    queue,
    payload: { tag: ++tags },
    max_attempts: oneOf([1, 2, 3, 20]),
    priority: oneOf([-1, 0, 0, 0, 1]),
  };
  if (chance(0.15)) spec.delay_seconds = between(0.02, 1.5);
  if (hasGroups(queue) && chance(0.8))
    spec.group = chance(0.3) ? `long ${integer(1, 2)}` : `small ${integer(1, 30)}`;
  if (chance(0.25)) {
    spec.unique_key = `key ${integer(1, 8)}`;
    if (chance(0.3)) spec.unique_for_seconds = between(0.2, 2);
  }
  if (isReplacing(queue)) {
    // A replaced job gets another number of attempts. One number for all makes clear which is its last.
    spec.max_attempts = 3;
    spec.unique_key = `key ${integer(1, 8)}`;
    if (chance(0.8)) spec.on_duplicate = 'replace';
  }
  if (isFair(queue) && chance(0.8)) spec.fairness_key = `tenant ${integer(1, 5)}`;
  if (!isReplacing(queue) && chance(0.1)) spec.expires_in_seconds = between(0.1, 3);
  return deadLettersOf(queue) === SENT_HOME ? keyless(lasting(spec)) : spec;
}

export function keyless({ unique_key: _, unique_for_seconds: __, on_duplicate: ___, ...spec }: Spec): Spec {
  return spec;
}

export function lasting({ expires_in_seconds: _, ...spec }: Spec): Spec {
  return spec;
}

export const someSpecs = (random: Random, most: number): Spec[] => {
  const queue = random.chance(0.7) ? random.oneOf(QUEUE_NAMES) : undefined;
  const specs = Array.from({ length: random.integer(1, most) }, () => anySpec(random, queue));
  return queue === undefined ? withoutKeysElsewhere(specs) : specs;
};

/** Over several databases, a batch takes no key elsewhere, and a follow-up whose key is taken there is dropped. */
export function withoutKeysElsewhere(specs: Spec[]): Spec[] {
  return process.env.TEST_DATABASES ? specs.map(keyless) : specs;
}
