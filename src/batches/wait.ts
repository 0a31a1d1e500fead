import type { Ledger } from '../ledger.ts';
import type { Batch, BatchName } from '../verbs/batches.ts';
import type { Waits } from '../verbs/callers.ts';
import { type OpenWait, openWait } from '../waiting/openWait.ts';

/** A notification may be lost. So a wait looks this often by itself. */
const LOOK_MS = 2000;

const hasEnded = ({ state }: Batch) => state === 'succeeded' || state === 'ended';

/** Lets requests wait for the end of batches. A waiting request holds no connection to the database. */
export function createBatchWaits({ get, ledger }: { get(name: BatchName): Promise<Batch>; ledger: Ledger }) {
  const waits = new Map<OpenWait, string>();
  let closed = false;
  ledger.count('batch_waits', () => waits.size);

  async function untilEnd(name: BatchName, wait: OpenWait): Promise<Batch> {
    for (;;) {
      const batch = await get(name);
      if (wait.isOver() || hasEnded(batch)) return batch;
      const look = setTimeout(wait.wake, LOOK_MS);
      await wait.woken();
      clearTimeout(look);
    }
  }

  return {
    async wait(request: BatchName & Waits & { wait_seconds: number }): Promise<Batch> {
      const wait = openWait(request.wait_seconds * 1000);
      if (closed) wait.end();
      waits.set(wait, request.id);
      request.onHangup?.(wait.end);
      try {
        return await untilEnd(request, wait);
      } finally {
        wait.close();
        waits.delete(wait);
      }
    },

    /** These jobs and batches have ended. */
    ended(ids: string[]): void {
      for (const [wait, id] of waits) if (ids.includes(id)) wait.wake();
    },

    /** Ends all waits. Later requests do not wait. */
    close(): void {
      closed = true;
      for (const wait of waits.keys()) wait.end();
    },
  };
}
