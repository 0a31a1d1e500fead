import { vi } from 'vitest';

/**
 * Runs work on a clock that strikes the end of a slice whenever it is asked. Returns the passes of the event loop. Not beside a
 * service: its duties would look at this clock, too, and one of them would never rest.
 */
export async function passesOf(work: () => unknown): Promise<number> {
  let now = performance.now();
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => {
    now += 1000;
    return now;
  });
  let passes = 0;
  let isOver = false;
  const count = () => {
    passes++;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  try {
    await work();
  } finally {
    isOver = true;
    clock.mockRestore();
  }
  return passes;
}
