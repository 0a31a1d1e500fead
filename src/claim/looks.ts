import { isOutage } from '../errors.ts';

/** This number of looks runs at once. The pool's other connections serve the other verbs. */
export const AT_ONCE = 3;

/**
 * Looks that nobody woke: a few at once, in the order in which they were asked for. `Lines` is what looks: a wait line, or
 * some together. `look` returns undefined when there is nothing to look for. When the database answers none of them,
 * `fail` is called for those that wait: each of them would wait as long for the same failure.
 */
export function createLooks<Lines extends object>(context: {
  look(lines: Lines): Promise<void> | undefined;
  fail(lines: Lines, outage: unknown): void;
}) {
  const { look, fail } = context;
  const waiting = new Set<Lines>();
  let running = 0;
  /** The looks that met an outage since the last one that did not, and those of them whose lines wait on. */
  let failures = 0;
  const met = new Set<Lines>();

  async function run(lines: Lines, looking: Promise<void>): Promise<void> {
    running++;
    try {
      await looking;
      failures = 0;
      met.clear();
    } catch (error) {
      if (!isOutage(error)) {
        fail(lines, error);
        return;
      }
      met.add(lines);
      // A single one may have waited too long for a connection. The next ones will show it.
      if (++failures < AT_ONCE && running + waiting.size >= AT_ONCE) return;
      const failed = [...met, ...waiting];
      met.clear();
      waiting.clear();
      for (const each of failed) fail(each, error);
    } finally {
      running--;
      next();
    }
  }

  function next(): void {
    for (const lines of waiting) {
      if (running >= AT_ONCE) return;
      waiting.delete(lines);
      const looking = look(lines);
      if (looking) void run(lines, looking);
    }
  }

  return {
    /** They look, as soon as there is a place. */
    ask(lines: Lines): void {
      waiting.add(lines);
      next();
    },
  };
}
