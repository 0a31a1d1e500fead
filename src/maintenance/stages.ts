/** Longer than a request and its statements take, and than the periods of duties that note what was done. */
const AWAKE_MS = 6000;
const ASLEEP_MS = 300_000;

export interface Times {
  awakeMs: number;
  asleepMs: number;
}

const now = () => performance.now();

/** When something was done or asked, and whether the replica is awake, dozes or sleeps by that (rest.ts). */
export function createStages(
  { awakeMs = AWAKE_MS, asleepMs = ASLEEP_MS }: Partial<Times>,
  awakens: () => void,
) {
  let activeAt = now();
  let askedAt = activeAt;
  let isAwake = true;
  /** From when to when it dozed last. While it dozes, `to` is infinite. */
  let dozed = { from: Number.NEGATIVE_INFINITY, to: Number.NEGATIVE_INFINITY };

  function wake(): void {
    if (isAwake) return;
    isAwake = true;
    dozed.to = now();
    awakens();
  }

  return {
    awakeMs,
    isAwake: () => isAwake,
    isAsleep: () => now() > askedAt + asleepMs && now() > activeAt + asleepMs,
    /** Nothing was done for so long that it may doze. */
    isQuiet: () => now() > activeAt + awakeMs,
    quietMs: () => now() - activeAt,
    dozesFrom: (): number => dozed.from,
    dozedSince: (at: number): number => Math.max(0, Math.min(dozed.to, now()) - Math.max(dozed.from, at)),
    wake,

    doze(): void {
      isAwake = false;
      dozed = { from: now(), to: Number.POSITIVE_INFINITY };
    },

    asked(): void {
      askedAt = now();
    },

    /** Something is done, here or on another replica. Returns when. */
    active(): number {
      activeAt = now();
      wake();
      return activeAt;
    },
  };
}

export type Stages = ReturnType<typeof createStages>;
