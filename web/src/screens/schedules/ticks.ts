import { nextTick } from '../../../../src/schedules/cron.ts';
import { inZone } from '../../format.ts';
import type { Schedule } from '../../types.ts';

const TICKS = 5;

/** The ticks that come, by the rules that Dibs itself goes by. The first one is what Dibs says. */
export function ticksOf({ cron, timezone, next_run_at }: Schedule): string[] {
  const ticks: string[] = next_run_at ? [next_run_at] : [];
  try {
    while (ticks.length > 0 && ticks.length < TICKS) {
      const next = nextTick(cron, timezone, new Date(ticks.at(-1) as string));
      if (next === null) break;
      ticks.push(next);
    }
  } catch {
    // A browser may not know the zone. Then there is only what Dibs says.
  }
  return ticks;
}

/** A tick by the clocks of its schedule. */
export const tick = (time: string, timezone: string): string => {
  try {
    return inZone(time, timezone);
  } catch {
    return time;
  }
};
