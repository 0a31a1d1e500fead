/** Bare ranks are scanned whole if surveys of all that was ever there took less than this. */
const WHOLE_MS = 30;
/** If surveys took longer than WHOLE_MS, they begin anew after this time: the dead entries may be gone by then. */
const WHOLE_AGAIN_MS = 60_000;
/** A rank stays bare until surveys of it took this long together. */
const SLOW_RANK_MS = 20;
/** A survey that took less than this passed over few entries. Its time does not count for its rank. */
export const QUICK_MS = 1;

/**
 * The ranks without a level: no ready job was seen there yet, and few dead entries. They share one floor. It rises to
 * the end of the order. If the surveys on the way took little, these ranks are then scanned whole, from their
 * beginning.
 */
export function createBareRanks(now: () => number) {
  let floor = -1;
  let isWhole = false;
  /** How long the surveys up to the floor took, without those of ranks that have a level by now. */
  let surveyMs = 0;
  /** The part of it that each rank took. Quick surveys are left out. */
  let slowMs = new Map<number, number>();
  let surveyedAt = 0;

  /** Surveys begin anew, at the beginning of each bare rank. */
  function close(): void {
    isWhole = false;
    floor = -1;
    surveyMs = 0;
    slowMs = new Map();
  }

  return {
    floor: (): number => floor,

    /** Whether claims scan these ranks whole. */
    isWhole: (): boolean => isWhole,

    close,

    /** The floor is near the end of the order. Decides whether claims scan these ranks whole from now on. */
    arrived(): void {
      if (isWhole) return;
      if (surveyMs < WHOLE_MS) isWhole = true;
      else if (now() > surveyedAt + Math.max(WHOLE_AGAIN_MS, 100 * surveyMs)) close();
    },

    /** A survey of one of these ranks took this long. Returns whether the rank is too slow to stay bare. */
    tookLong(rank: number, ms: number): boolean {
      surveyMs += ms;
      const total = (slowMs.get(rank) ?? 0) + (ms < QUICK_MS ? 0 : ms);
      if (total > 0) slowMs.set(rank, total);
      return total >= SLOW_RANK_MS;
    },

    /** The rank gets a level. Returns how long surveys of it took. */
    leave(rank: number): number {
      const ms = slowMs.get(rank) ?? 0;
      slowMs.delete(rank);
      surveyMs -= ms;
      return ms;
    },

    /** A survey found no job in these ranks up to this position. */
    raise(position: number): void {
      surveyedAt = now();
      floor = Math.max(floor, position);
    },
  };
}
