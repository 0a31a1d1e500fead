import type { Job } from '../job.ts';
import type { Ledger } from '../ledger.ts';

/*
 * A client that enqueues a job with `Prefer: wait` is the only one who waits for its end, and does not know its id yet.
 * While that is so, an ack on the same replica may delete the job and hand it over in memory. Whoever else begins to
 * wait makes its `awaited_until` later (sql/waiting/await.sql), and then it is kept. See
 * docs/decisions/0042-sole-waiters.md.
 */

/** A client that waits for a job as the only one. */
export interface SoleWaiter {
  /** The job, once an ack handed it over. */
  job: Job | undefined;
  /** No further ack hands the job over. Resolves when those that are under way have ended. */
  leave(): Promise<void>;
}

interface Sole extends SoleWaiter {
  acks: number;
  woken(): void;
  free(): void;
}

export function createSoleWaiters({ ledger }: { ledger: Ledger }) {
  const waiting = new Map<string, Sole>();
  /** Those whose jobs are being acked. One that has left may still be handed its job. */
  const held = new Map<string, Sole>();
  ledger.count('awaited_jobs', () => waiting.size + held.size);

  return {
    add(id: string, woken: () => void): SoleWaiter {
      const sole: Sole = {
        job: undefined,
        acks: 0,
        woken,
        free: () => undefined,
        leave() {
          waiting.delete(id);
          if (sole.acks === 0) return Promise.resolve();
          return new Promise((resolve) => {
            sole.free = resolve;
          });
        },
      };
      waiting.set(id, sole);
      return sole;
    },

    /**
     * An ack of this job begins. Returns what to call at its end, or undefined when no sole waiter waits for the job.
     */
    hold(id: string): (() => void) | undefined {
      const sole = waiting.get(id);
      if (!sole) return undefined;
      held.set(id, sole);
      sole.acks++;
      return () => {
        if (--sole.acks > 0) return;
        held.delete(id);
        sole.free();
      };
    },

    /** An ack has deleted the job, and has committed. */
    handOver(job: Job): void {
      const sole = held.get(job.id);
      if (!sole) return;
      sole.job = job;
      sole.woken();
    },
  };
}

export type SoleWaiters = ReturnType<typeof createSoleWaiters>;
