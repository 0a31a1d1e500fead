/** A position that was drawn longer ago than this has committed, or is marked. */
export const LAG_MS = 250;
/** What a replica knows of the order is good for this time. */
const FRESH_MS = 2000;

/**
 * Where the order of arrival ends, and where it ended LAG_MS ago: up to there, all jobs have committed, or are marked.
 */
export function createOrderEnd(now: () => number) {
  /** Ends of the order, and when each was known: one that is at least LAG_MS old, and those known since. */
  let ends: { position: number; at: number }[] = [];
  let highest = -1;
  /** After an outage it may be another database. */
  let isDistrusted = false;

  return {
    /** The order ends at this position now. */
    isAt(position: number): void {
      const at = now();
      isDistrusted = false;
      ends.push({ position, at });
      while (ends[1] && ends[1].at <= at - LAG_MS) ends.shift();
      highest = Math.max(highest, position);
    },

    /** The database was set back, or is another one. Nothing is known of its order. */
    forget(): void {
      ends = [];
      highest = -1;
    },

    /** The last end that is known. */
    newest: (): number => ends.at(-1)?.position ?? -1,

    /** The highest position that is known, of a job or as an end. No floor is above it. */
    highest: (): number => highest,

    /** A position was leased. */
    leased(position: number): void {
      if (position > highest) highest = position;
    },

    /** Whether the end of the order is known well enough. */
    isFresh: (): boolean => !isDistrusted && (ends.at(-1)?.at ?? Number.NEGATIVE_INFINITY) > now() - FRESH_MS,

    /** A statement failed. What is known counts no more until the next look. */
    distrust(): void {
      isDistrusted = true;
    },

    /** All jobs up to this position have committed, or are marked. Undefined when nothing was known long enough ago. */
    committedUpTo(): number | undefined {
      const at = now() - LAG_MS;
      return ends.findLast((end) => end.at <= at)?.position;
    },
  };
}
