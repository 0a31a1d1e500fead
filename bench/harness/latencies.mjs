import { createHistogram } from 'node:perf_hooks';

const HIGHEST_US = 3_600_000_000;
const newHistogram = () => createHistogram({ lowest: 1, highest: HIGHEST_US, figures: 3 });
const ms = (us) => us / 1000;

/** The latencies of the last `slots` samples, in bounded memory: one histogram for each time between two samples. */
export function createLatencies(slots) {
  const histograms = [newHistogram()];

  return {
    record: (latencyMs) =>
      histograms.at(-1).record(Math.min(HIGHEST_US, Math.max(1, Math.round(latencyMs * 1000)))),

    /** Percentiles in milliseconds, by their names. The oldest slot is forgotten. */
    take() {
      const all = newHistogram();
      for (const histogram of histograms) all.add(histogram);
      histograms.push(newHistogram());
      if (histograms.length > slots) histograms.shift();
      const percentile = (p) => (all.count === 0 ? 0 : ms(all.percentile(p)));
      return { p50: percentile(50), p95: percentile(95), p99: percentile(99) };
    },
  };
}
