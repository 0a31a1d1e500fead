import type { JobState } from '../job.ts';

/** At most one message to the other replicas in this time: see src/wakes.ts. */
const QUIET_MS = 100;

/**
 * A job is awaited for so much longer than somebody asked to wait for its end: for who asks again and again, and had just
 * been answered. When it finishes it is kept for as long (sql/forget.sql), as who waits may be told of it late.
 */
export const KEPT_SECONDS = 10;

/** Done one way or another. A dead job may come back, but not by itself. */
export const isFinished = (state: JobState): boolean =>
  state === 'completed' || state === 'cancelled' || state === 'dead';

/** What a statement returns of a job whose state it changed. */
export interface Changed {
  id: string;
  /** None of one that is gone. */
  state?: JobState;
  /** Whether somebody waits for its end, here or on another replica. */
  awaited?: boolean | null;
}

/** Who waits here for the end of which job. `tell` passes on to the other replicas which jobs are finished. */
export function createWaiters({ tell }: { tell(ids: string[]): void }) {
  const waiting = new Map<string, Set<() => void>>();
  let untold: string[] = [];
  let quiet = false;

  function wake(ids: string[]): void {
    for (const id of ids) for (const woken of waiting.get(id) ?? []) woken();
  }

  function tellSoon(): void {
    if (quiet || untold.length === 0) return;
    quiet = true;
    tell(untold);
    untold = [];
    setTimeout(() => {
      quiet = false;
      tellSoon();
    }, QUIET_MS).unref();
  }

  return {
    /** Jobs have changed, as of a transaction that has committed: whoever waits for one that is finished now is woken. */
    changed(rows: Changed[]): void {
      const ids = rows
        .filter((row) => row.awaited && row.state && isFinished(row.state))
        .map((row) => row.id);
      if (ids.length === 0) return;
      wake(ids);
      untold.push(...ids);
      tellSoon();
    },

    wake,

    /** The jobs that somebody waits for here. */
    ids: (): string[] => [...waiting.keys()],

    add(id: string, woken: () => void): void {
      const others = waiting.get(id);
      if (others) others.add(woken);
      else waiting.set(id, new Set([woken]));
    },

    remove(id: string, woken: () => void): void {
      const all = waiting.get(id);
      all?.delete(woken);
      if (all?.size === 0) waiting.delete(id);
    },
  };
}

export type Waiters = ReturnType<typeof createWaiters>;
