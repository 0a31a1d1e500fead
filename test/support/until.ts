import { setTimeout as sleep } from 'node:timers/promises';

/** Calls `look` until it returns a true value, and returns that. */
export async function until<T>(
  look: () => T | Promise<T>,
  { withinMs = 20_000, everyMs = 20, what = 'the event that the test waits for' } = {},
): Promise<Exclude<T, false | undefined | null | 0>> {
  const deadline = performance.now() + withinMs;
  for (;;) {
    const seen = await look();
    if (seen) return seen as Exclude<T, false | undefined | null | 0>;
    if (performance.now() > deadline) throw new Error(`${what} did not come within ${withinMs} ms`);
    await sleep(everyMs);
  }
}
