import type { RefusedCredential } from './access.ts';

/** Of equal lines, one in this time. */
const QUIET_MS = 10_000;

/**
 * Logs why credentials are refused. Whoever tries many keys writes no long log: each reason has a line every 10 s, which says
 * how often it came since the last one.
 */
export function createRefusedLog(log: (fields: object, message: string) => void) {
  const noted = new Map<string, { at: number; times: number }>();

  return (why: RefusedCredential): void => {
    const now = performance.now();
    const { at, times } = noted.get(why.reason) ?? { at: Number.NEGATIVE_INFINITY, times: 0 };
    const isQuiet = now < at + QUIET_MS;
    noted.set(why.reason, isQuiet ? { at, times: times + 1 } : { at: now, times: 0 });
    if (!isQuiet) log({ ...why, times: times + 1 }, 'refused a credential');
  };
}
