import type { Ledger } from '../ledger.ts';
import type { Waits } from '../verbs/callers.ts';
import { type OpenWait, openWait } from './openWait.ts';
import type { Wakes } from './wakes.ts';

/** The requests that wait here for ends of one kind. A waiting request holds no connection to the database. */
export function createOpenWaits(context: {
  /** Their name in the ledger. */
  kind: string;
  wakes: Pick<Wakes, 'add' | 'remove'>;
  ledger: Ledger;
}) {
  const { kind, wakes, ledger } = context;
  const waits = new Set<OpenWait>();
  let closed = false;
  ledger.count(kind, () => waits.size);

  return {
    /** Runs `during` with a wait that `id` wakes. It is over after `wait_seconds`, or when its client is gone. */
    async hold<T>(
      { id, wait_seconds, onHangup }: Waits & { id: string; wait_seconds: number },
      during: (wait: OpenWait) => Promise<T>,
    ): Promise<T> {
      const wait = openWait(wait_seconds * 1000);
      if (closed) wait.end();
      // Before the first look, so that no change in between is missed.
      wakes.add(id, wait.wake);
      waits.add(wait);
      onHangup?.(wait.end);
      try {
        return await during(wait);
      } finally {
        wait.close();
        waits.delete(wait);
        wakes.remove(id, wait.wake);
      }
    },

    fail(error: unknown): void {
      for (const wait of waits) wait.fail(error);
    },

    /** Whether the replica is stopping, so that requests do not wait any more. */
    closed: () => closed,

    /** The number of requests that wait here. */
    waiting: () => waits.size,

    /** Ends all waits. Later requests do not wait. */
    close(): void {
      closed = true;
      for (const wait of waits) wait.end();
    },
  };
}
