import { isOutage } from '../errors.ts';
import type { WaitLine } from './waitLine.ts';

/** This number of looks runs at once. The pool's other connections serve the other verbs. */
const AT_ONCE = 3;

/**
 * The looks of wait lines that nobody woke: a few at once, in the order in which they were asked for. `look` returns
 * undefined when there is nothing to look for. When the database answers none of them, `fail` is called for the lines
 * that wait: each of them would wait as long for the same failure.
 */
export function createLooks(context: {
  look(line: WaitLine): Promise<void> | undefined;
  fail(line: WaitLine, outage: unknown): void;
}) {
  const { look, fail } = context;
  const waiting = new Set<WaitLine>();
  let running = 0;
  /** The looks that met an outage since the last one that did not. */
  let failures = 0;

  async function run(looking: Promise<void>): Promise<void> {
    running++;
    try {
      await looking;
      failures = 0;
    } catch (error) {
      // A single one may have waited too long for a connection.
      if (!isOutage(error) || ++failures < AT_ONCE) return;
      const others = [...waiting];
      waiting.clear();
      for (const line of others) fail(line, error);
    } finally {
      running--;
      next();
    }
  }

  function next(): void {
    for (const line of waiting) {
      if (running >= AT_ONCE) return;
      waiting.delete(line);
      const looking = look(line);
      if (looking) void run(looking);
    }
  }

  return {
    /** A line looks, as soon as there is a place. */
    ask(line: WaitLine): void {
      waiting.add(line);
      next();
    },
  };
}
