/** PROTOTYPE */
const MOST = Number(process.env.RJ_MOST ?? 16);
const MS = Number(process.env.RJ_MS ?? 1);
const MODE = process.env.RJ ?? '1';
let missing = 0;
let wake: (() => void) | undefined;
export const stats = { tries: 0, hits: 0, trips: 0, jobs: 0 };
if (process.env.RJ_STATS)
  setInterval(() => {
    console.error(JSON.stringify(stats));
    stats.tries = stats.hits = stats.trips = stats.jobs = 0;
  }, 1000).unref();
export function arrived(): void {
  if (missing > 0 && --missing === 0) wake?.();
}
let misses = 0;
let skip = 0;
export function rejoin(carried: number): Promise<void> | undefined {
  stats.trips++;
  stats.jobs += carried;
  if (MODE === '0' || carried < 2 || carried > MOST) return undefined;
  if (skip > 0) {
    skip--;
    return undefined;
  }
  if (missing > 0) return undefined;
  stats.tries++;
  return new Promise((resolve) => {
    missing = carried;
    const timer = setTimeout(() => {
      misses = Math.min(misses + 1, 6);
      skip = 2 ** misses;
      missing = 0;
      wake = undefined;
      resolve();
    }, MS);
    wake = () => {
      stats.hits++;
      misses = 0;
      clearTimeout(timer);
      wake = undefined;
      setImmediate(resolve);
    };
  });
}
