/** What is loaded from elsewhere cannot be had now. */
export class Away extends Error {}

export interface Loaded<T> {
  value: T;
  /** When the load began, by performance.now(). */
  at: number;
}

/**
 * A value that is loaded again when it is asked for and too old. One load runs at a time, and serves all who wait.
 * After a load that failed, the next one starts no sooner than `retryMs` later.
 *
 * The function that it returns throws `Away` when the value cannot be loaded.
 */
export function reloaded<T>(
  load: () => Promise<T>,
  retryMs: number,
): (maxAgeMs: number) => Promise<Loaded<T>> {
  let current: Loaded<T> | undefined;
  let loading: Promise<Loaded<T>> | undefined;
  let failure: { error: Away; at: number } | undefined;

  async function reload(): Promise<Loaded<T>> {
    const at = performance.now();
    try {
      current = { value: await load(), at };
      failure = undefined;
      return current;
    } catch (cause) {
      const error = new Away(cause instanceof Error ? cause.message : String(cause), { cause });
      failure = { error, at: performance.now() };
      throw error;
    } finally {
      loading = undefined;
    }
  }

  return async (maxAgeMs) => {
    const now = performance.now();
    if (current && now - current.at < maxAgeMs) return current;
    if (failure && now - failure.at < retryMs) throw failure.error;
    loading ??= reload();
    return loading;
  };
}
