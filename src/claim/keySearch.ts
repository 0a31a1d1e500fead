/** A claim that looks for its keys for this time, and a bit more for each slot, is slow. */
const SLOW_MS = 50;
/** A claim that is not trusted to be quick may look for its keys for this time. */
const LIMIT_MS = 100;
const MS_PER_SLOT = 0.25;
/** After this number of slow claims in a row, claims take what stands at the front of the queue. */
const SLOW_CLAIMS = 3;
/** They do so for this time. Then one claim looks for keys again. */
const FRONT_MS = 10_000;
/** After a quick claim, the next ones within this time are trusted to be quick. */
const TRUSTED_MS = 2000;

/** `walk`: from key to key. `limited walk`: the same, with a time limit of its own. `front`: sql/claim/front.sql. */
export type KeySearchWay = 'walk' | 'limited walk' | 'front';

export const isWalk = (way: KeySearchWay | undefined): boolean => way === 'walk' || way === 'limited walk';

/**
 * How claims of a queue look for the next fairness keys. The walk from key to key (sql/claim/fair.sql) has no scan floor: it
 * goes over the dead index entries of each key. While there are many, it takes long, and claims take the first jobs in the order
 * of arrival instead. Those have a scan floor.
 */
export function createKeySearch(now: () => number = () => performance.now()) {
  let slowClaims = 0;
  let quickAt = Number.NEGATIVE_INFINITY;
  let frontUntil = Number.NEGATIVE_INFINITY;

  function useFront(): void {
    frontUntil = now() + FRONT_MS;
    // One more slow claim is enough.
    slowClaims = SLOW_CLAIMS - 1;
  }

  return {
    way(): KeySearchWay {
      if (now() < frontUntil) return 'front';
      return now() < quickAt + TRUSTED_MS ? 'walk' : 'limited walk';
    },

    /** A limited walk for this number of slots may take this long. */
    limitMs: (slots: number): number => Math.ceil(LIMIT_MS + slots * MS_PER_SLOT),

    /** A walk for this number of slots took this long. Returns whether that was quick. */
    took(ms: number, slots: number): boolean {
      if (ms <= SLOW_MS + slots * MS_PER_SLOT) {
        quickAt = now();
        slowClaims = 0;
        return true;
      }
      quickAt = Number.NEGATIVE_INFINITY;
      if (++slowClaims >= SLOW_CLAIMS) useFront();
      return false;
    },

    /** A walk ran into its time limit. */
    failed: useFront,
  };
}

export type KeySearch = ReturnType<typeof createKeySearch>;
