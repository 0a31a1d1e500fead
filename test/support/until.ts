import { setTimeout as sleep } from 'node:timers/promises';

/** Calls `look` until it returns a true value, and returns that. */
export async function until<T>(
  look: () => T | Promise<T>,
  { withinMs = 60_000, everyMs = 20, what = 'the event that the test waits for' } = {},
): Promise<Exclude<T, false | undefined | null | 0>> {
  const deadline = performance.now() + withinMs;
  for (;;) {
    const seen = await look();
    if (seen) return seen as Exclude<T, false | undefined | null | 0>;
    if (performance.now() > deadline) throw new Error(`${what} did not come within ${withinMs} ms`);
    await sleep(everyMs);
  }
}

/** Waits this long, and until there is enough of what the test is about: a slow machine does less in the same time. */
export async function enough(ms: number, isEnough: () => boolean): Promise<void> {
  await sleep(ms);
  await until(isEnough, { withinMs: 100_000, what: 'enough of what the test is about' });
}
