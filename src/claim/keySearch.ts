/** A claim that looks for its keys for this time, and a bit more for each slot, is slow. */
const SLOW_MS = 50;
/** One that takes longer than this, and a bit more for each slot, is dear: the front may be cheaper. */
const DEAR_MS = 5;
/** A claim that is not trusted to be quick may look for its keys for this time. */
const LIMIT_MS = 100;
const MS_PER_SLOT = 0.25;
/** After this number of slow claims in a row, claims take the front of the queue. After as many dear ones, they try it. */
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
 * of arrival instead. Those have a scan floor. They do so for one of two reasons:
 * - The walk is slow. Then they take the front whatever it holds.
 * - The walk is dear, and the front is cheaper and holds all jobs of the queue: it gives them in the same order.
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
    // One more slow claim is enough.
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

    /** Claims take the front though it may not hold all jobs. */
    takesAnyFront: (): boolean => isSlow,

    /** A limited walk for this number of slots may take this long. */
    limitMs: (slots: number): number => Math.ceil(LIMIT_MS + slots * MS_PER_SLOT),

    /**
     * A walk for this number of slots took this long. Of a walk that found no job, only the replica's own time is known, with all
     * that waits: it may show a slow walk, and no dear one. Returns whether walks are cheap.
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

    /** A claim of the front took this long. The front `holdsAll` ready jobs of the queue, or only the first of them. */
    tookFront(ms: number, holdsAll: boolean): void {
      if (!isSlow && (!holdsAll || ms > dearMs)) frontUntil = Number.NEGATIVE_INFINITY;
    },

    /** A walk ran into its time limit. */
    failed: useFront,
  };
}
