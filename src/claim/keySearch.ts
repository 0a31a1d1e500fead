/** Each of the next three times is this much longer for each slot of the claim. */
const MS_PER_SLOT = 0.25;
/** A walk is slow when it takes longer than this. */
const SLOW_MS = 50;
/** A walk is dear when it takes longer than this: to lease from the front may be cheaper. */
const DEAR_MS = 5;
/** The time limit of a limited walk. */
const LIMIT_MS = 100;
/** After this number of slow walks in a row, claims lease from the front. After as many dear walks, they try it. */
const SLOW_CLAIMS = 3;
/** Claims lease from the front for this time. Then one claim walks again. */
const FRONT_MS = 10_000;
/** Walks have no time limit of their own for this time after a walk that was not slow. */
const TRUSTED_MS = 2000;

/** `walk`: from key to key. `limited walk`: the same, with a time limit of its own. `front`: sql/claim/front.sql. */
export type KeySearchWay = 'walk' | 'limited walk' | 'front';

export const isWalk = (way: KeySearchWay | undefined): boolean => way === 'walk' || way === 'limited walk';

/**
 * How claims of a queue look for the next fairness keys. The walk from key to key (sql/claim/fair.sql) has no scan
 * floor. It passes over the dead index entries of each key, and takes long while there are many. The front of the queue
 * (sql/claim/front.sql) has a scan floor. Claims lease from the front in two cases:
 * - The walk is slow. Then they lease from the front in any case.
 * - The walk is dear, and the front is cheaper and holds all jobs of the queue. Then both give the same jobs in the
 * same order.
 */
export function createKeySearch(now: () => number = () => performance.now()) {
  let slowClaims = 0;
  let dearClaims = 0;
  /** How long the last dear walk took. */
  let dearMs = 0;
  let triedAt = Number.NEGATIVE_INFINITY;
  let quickAt = Number.NEGATIVE_INFINITY;
  let frontUntil = Number.NEGATIVE_INFINITY;
  let isSlow = false;

  function useFront(): void {
    frontUntil = now() + FRONT_MS;
    isSlow = true;
    // After FRONT_MS, one more slow walk is enough to come back here.
    slowClaims = SLOW_CLAIMS - 1;
  }

  function tryFront(): void {
    if (now() < triedAt + FRONT_MS) return;
    triedAt = now();
    frontUntil = now() + FRONT_MS;
    isSlow = false;
  }

  return {
    way(): KeySearchWay {
      if (now() < frontUntil) return 'front';
      return now() < quickAt + TRUSTED_MS ? 'walk' : 'limited walk';
    },

    /** Whether claims lease from the front even if it does not hold all jobs. */
    takesAnyFront: (): boolean => isSlow,

    /** A limited walk for this number of slots may take this long. */
    limitMs: (slots: number): number => Math.ceil(LIMIT_MS + slots * MS_PER_SLOT),

    /**
     * Notes how long a walk took. Returns whether walks are cheap. A walk that found no job returned no time of its
     * own. Then
     * `ms` was measured here, with all that the claim waited for: it can tell that a walk is slow, but not that it is
     * dear.
     */
    took(ms: number, slots: number, foundJobs = true): boolean {
      const forSlots = slots * MS_PER_SLOT;
      if (ms > SLOW_MS + forSlots) {
        quickAt = Number.NEGATIVE_INFINITY;
        if (++slowClaims >= SLOW_CLAIMS) useFront();
        return false;
      }
      quickAt = now();
      slowClaims = 0;
      if (!foundJobs) return dearClaims === 0;
      if (ms <= DEAR_MS + forSlots) {
        dearClaims = 0;
        return true;
      }
      dearMs = ms;
      if (++dearClaims >= SLOW_CLAIMS) tryFront();
      return false;
    },

    /** Notes how long a claim from the front took, and whether the front held all ready jobs of the queue. */
    tookFront(ms: number, holdsAll: boolean): void {
      if (!isSlow && (!holdsAll || ms > dearMs)) frontUntil = Number.NEGATIVE_INFINITY;
    },

    /** A walk ran into its time limit. */
    failed: useFront,
  };
}
