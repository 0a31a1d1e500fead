import type { Histogram } from './histogram.ts';

export type Labels = Record<string, string>;

/** One number of a metric. `name` is set where it differs from that of the family, as in a histogram. */
export interface Sample {
  name?: string;
  labels: Labels;
  value: number;
}

/** A metric with all its numbers, as it is written for Prometheus. */
export interface Family {
  name: string;
  type: 'counter' | 'gauge' | 'histogram';
  help: string;
  samples: Sample[];
}

export const family = (
  type: Family['type'],
  name: string,
  help: string,
  samples: (readonly [number | undefined | null, Labels?])[],
): Family => ({
  name,
  type,
  help,
  samples: samples.flatMap(([value, labels = {}]) =>
    value === undefined || value === null ? [] : [{ labels, value }],
  ),
});

/** The numbers of one histogram: its buckets, each with those below it, the sum and the count. */
function* samplesOf(name: string, { bounds, counts, sum }: Histogram, labels: Labels): Generator<Sample> {
  let below = 0;
  for (const [i, count] of counts.entries()) {
    below += count;
    yield { name: `${name}_bucket`, labels: { ...labels, le: String(bounds[i] ?? '+Inf') }, value: below };
  }
  yield { name: `${name}_sum`, labels, value: sum };
  yield { name: `${name}_count`, labels, value: below };
}

export const histograms = (name: string, help: string, all: (readonly [Histogram, Labels?])[]): Family => ({
  name,
  type: 'histogram',
  help,
  samples: all.flatMap(([histogram, labels = {}]) => [...samplesOf(name, histogram, labels)]),
});
