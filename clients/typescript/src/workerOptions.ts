import type { Observer } from './events.ts';
import type { LeasedJob } from './generated.ts';
import type { Middleware } from './job.ts';
import type { Logger } from './reporting.ts';

export interface WorkerOptions {
  queues: string[];
  /** How many jobs it works on at once, up to 1000. Default: 10. */
  concurrency?: number;
  /** Default: the queue's. It is extended while the handler runs, so it need not be as long as the work. */
  leaseSeconds?: number;
  /** How long a claim waits for jobs, up to 60. Default: 20. */
  waitSeconds?: number;
  /** Shown to people who look at a job. Default: `host:pid`. */
  name?: string;
  /** How long `stop` lets handlers go on. Then their signals fire. A second later their jobs are released. Default: 25. `Infinity`: for ever. */
  stopSeconds?: number;
  /**
   * Whether `job.signal` fires with `lease_expired`, when no extend was answered until the lease was over. Default: true. Without, the
   * handler goes on until Dibs says that the lease is lost: after an outage, the job may still be its own.
   */
  signalExpired?: boolean;
  /**
   * Whether it holds a session: when the worker is killed, its jobs go to others at once, and not when their leases run out. Where there
   * are none, it works without. Default: true.
   */
  session?: boolean;
  /** How long the session can be resumed after its connection is lost, from 0 to 60. Then its leases end. Default: 5. */
  resumeSeconds?: number;
  /** What the handler gets as `job.payload`. Default: `JSON.parse`. When it throws, the job is nacked. */
  decode?(text: string, job: LeasedJob): unknown;
  /** Around each handler, the first one outermost. */
  middleware?: Middleware[];
  /** Where it says which jobs failed, and what else went wrong. Default: `console.error` and `console.warn`. `null`: nowhere. */
  logger?: Logger | null;
  /** Is told all that the worker does. */
  observe?: Observer;
}
