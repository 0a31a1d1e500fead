import type { JobRates } from '../../types.ts';

/** Attempts that ended in a failure, in a second: by a nack, or because the lease ran out. */
export const failures = (rates: JobRates | undefined): number | undefined =>
  rates && rates.nacked + rates.rescued;
