import { setTimeout as sleep } from 'node:timers/promises';

/** Looks again and again until `look` answers something true, which it returns; fails with the last thing seen. */
export async function until<T>(
  look: () => T | Promise<T>,
  { withinMs = 20_000, everyMs = 20, what = 'what was waited for' } = {},
): Promise<Exclude<T, false | undefined | null | 0>> {
  const deadline = performance.now() + withinMs;
  for (;;) {
    const seen = await look();
    if (seen) return seen as Exclude<T, false | undefined | null | 0>;
    if (performance.now() > deadline) throw new Error(`${what} did not come within ${withinMs} ms`);
    await sleep(everyMs);
  }
}
