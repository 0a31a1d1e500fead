import { isFinished, type JobState } from '../job.ts';
import type { Ledger } from '../ledger.ts';
import { createWakes } from './wakes.ts';

/** The other replicas get at most one notification in this time (src/replicas/readyQueues.ts says why). */
const QUIET_MS = 100;

/**
 * Keep a finished job 10 s longer than anyone waits for it, so that a client that polls in a loop still finds it. It
 * also stays this long after its end, because a client that waits may hear of the end late
 * (sql/maintenance/prune_jobs.sql).
 */
export const KEPT_SECONDS = 10;

/** A job whose state a statement changed. */
export interface Changed {
  id: string;
  /** Missing when the job is gone. */
  state?: JobState;
  /** Whether a client waits for its end, here or on another replica. */
  awaited?: boolean | null;
}

/** The clients that wait here for the end of a job. `tell` sends the other replicas the ids of finished jobs. */
export function createWaiters({ tell, ledger }: { tell(ids: string[]): void; ledger: Ledger }) {
  const wakes = createWakes();
  ledger.count('awaited_jobs', () => wakes.ids().length);
  let untold: string[] = [];
  let quiet = false;

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
    ...wakes,

    /** Jobs have changed, in a transaction that has committed. Wakes the clients whose job is finished now. */
    changed(rows: Changed[]): void {
      const ids = rows
        .filter((row) => row.awaited && row.state && isFinished(row.state))
        .map((row) => row.id);
      if (ids.length === 0) return;
      wakes.wake(ids);
      untold.push(...ids);
      tellSoon();
    },
  };
}

export type Waiters = ReturnType<typeof createWaiters>;
