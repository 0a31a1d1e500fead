import type { LeasedJob, SettleResult } from './generated.ts';
import type { Verb } from './outcome.ts';

/** Why a handler's signal fired. */
export type SignalCode =
  /** Dibs says that the lease is over: another worker may have the job. */
  | 'lease_lost'
  /** No extend was answered in time: another worker may have the job. */
  | 'lease_expired'
  /** Somebody wants the job stopped. */
  | 'cancel_requested'
  /** The worker's time to stop is over. */
  | 'stopping';

/** The reason of a handler's signal. */
export class JobSignal extends Error {
  override name = 'JobSignal';
  readonly code: SignalCode;
  constructor(code: SignalCode) {
    super(code);
    this.code = code;
  }
}

/** What a worker does, for traces, metrics and logs. */
export type WorkerEvent =
  | { type: 'claimed'; jobs: LeasedJob[] }
  | { type: 'started'; job: LeasedJob }
  | { type: 'signalled'; job: LeasedJob; code: SignalCode }
  /** The handler ended. `error` is what it threw. */
  | { type: 'ended'; job: LeasedJob; seconds: number; error?: unknown }
  /** It is nacked, for this reason: `Error: no such customer`, in one line. */
  | {
      type: 'failed';
      job: LeasedJob;
      reason: string;
      next: 'retry' | 'dead' | 'cancelled';
      /** Default: what its backoff says. */
      retryInSeconds?: number;
    }
  | { type: 'settled'; job: LeasedJob; verb: Verb; result: SettleResult }
  /** The settlement did not count: the lease was over. Another worker has the job, or had it. */
  | { type: 'lost'; job: LeasedJob; verb: Verb | undefined }
  /** Dibs refused the settlement for good. A refused ack is followed by a nack that says why. */
  | { type: 'refused'; job: LeasedJob; verb: Verb; error: unknown }
  /** A request failed. The worker repeats it after `seconds`. */
  | { type: 'retrying'; request: 'claim' | 'settle' | 'extend'; error: unknown; seconds: number }
  | { type: 'stopping' }
  | { type: 'stopped'; error?: unknown };

export type Observer = (event: WorkerEvent) => void;
