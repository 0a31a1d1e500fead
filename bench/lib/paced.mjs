import { setTimeout as sleep } from 'node:timers/promises';

const TICK_MS = 4;
const MOST_OPEN = 1000;

/**
 * Starts `work` `rate` times a second until `until` settles or `seconds` are over. It does not wait for
 * earlier calls to end, so a slow answer delays no later call and no slow time is left out. At most MOST_OPEN
 * calls are open; calls beyond that are skipped and counted.
 */
export async function paced({ rate, seconds = Number.POSITIVE_INFINITY, until }, work) {
  const started = performance.now();
  const errors = [];
  let [launched, open, skipped] = [0, 0, 0];
  let stopped = false;
  until?.then(
    () => {
      stopped = true;
    },
    () => {
      stopped = true;
    },
  );
  const running = new Set();
  while (!stopped && performance.now() - started < seconds * 1000) {
    const due = Math.floor(((performance.now() - started) / 1000) * rate);
    for (; launched < due; launched++) {
      if (open >= MOST_OPEN) {
        skipped++;
        continue;
      }
      open++;
      const one = work()
        .catch((error) => errors.push(error))
        .finally(() => {
          open--;
          running.delete(one);
        });
      running.add(one);
    }
    await sleep(TICK_MS);
  }
  await Promise.all(running);
  return { launched, skipped, failed: errors.length, error: errors[0] };
}

/** The failures of a paced run, in words; empty when all went well. */
export const pacedTrouble = ({ skipped, failed, error }) =>
  [skipped > 0 && `${skipped} skipped`, failed > 0 && `${failed} failed (${error?.message})`]
    .filter(Boolean)
    .join(', ');
