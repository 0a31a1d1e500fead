import { INTEREST_MS } from './notifications.ts';

/** Knows when queues were last named, for as long as a `wait` holds. */
export function createLastNamed() {
  /** The queues that were named least recently come first. */
  const times = new Map<string, number>();

  return {
    /** Names a queue, now. */
    name(queue: string): void {
      const now = performance.now();
      times.delete(queue);
      times.set(queue, now);
      for (const [oldest, at] of times) {
        if (at > now - INTEREST_MS) return;
        times.delete(oldest);
      }
    },

    isWithin(ms: number, queue: string): boolean {
      const at = times.get(queue);
      return at !== undefined && at > performance.now() - ms;
    },

    clear: (): void => times.clear(),
  };
}
