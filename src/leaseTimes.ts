/*
 * A time for each lease that this replica gave. It remembers as many leases as it has places. A newer lease takes the
 * place of an older one whose id falls there. So the memory is bounded, and no lease that nobody settles here stays for
 * long.
 */

const PLACES = 2 ** 16;

/** The random hex digits of a job id (src/ids.ts): four choose the place, seven tell the ids there apart. */
const PLACE_FROM = 26;
const CHECK_FROM = 19;

function digitsAt(id: string, from: number, count: number): number {
  let value = 0;
  for (let i = from; i < from + count; i++) {
    const code = id.charCodeAt(i);
    // The dash within the second group is passed over.
    if (code !== 45) value = (value << 4) | (code < 58 ? code - 48 : code - 87);
  }
  return value;
}

export function createLeaseTimes() {
  const checks = new Int32Array(PLACES);
  const times = new Float64Array(PLACES);

  return {
    note(id: string, at: number): void {
      const place = digitsAt(id, PLACE_FROM, 4);
      checks[place] = digitsAt(id, CHECK_FROM, 7);
      times[place] = at;
    },

    /** The time of the lease of this job, if this replica gave it and still knows. It forgets it then. */
    take(id: string): number | undefined {
      const place = digitsAt(id, PLACE_FROM, 4);
      const at = times[place];
      if (!at || checks[place] !== digitsAt(id, CHECK_FROM, 7)) return undefined;
      times[place] = 0;
      return at;
    },
  };
}

export type LeaseTimes = ReturnType<typeof createLeaseTimes>;
