import { backoffMs, pause } from './backoff.ts';
import type { CallOptions } from './caller.ts';
import { isTemporary } from './errors.ts';

const now = () => performance.now();

export interface Repeated {
  signal?: AbortSignal | undefined;
  /** By the monotonic clock: not after this. */
  endsAt?: number;
  /** For so long the request asks Dibs to hold it. */
  heldSeconds?: number;
}

/** Sends a request until it is answered, or fails with what does not pass. */
export type Repeat = <T>(send: (options: CallOptions) => Promise<T>, given?: Repeated) => Promise<T>;

/** Repeats a request for so many seconds. */
export const repeatFor =
  (seconds: number): Repeat =>
  async (send, { signal, endsAt = Number.POSITIVE_INFINITY, heldSeconds = 0 } = {}) => {
    const end = Math.min(endsAt, now() + (heldSeconds + seconds) * 1000);
    for (let failures = 0; ; failures++) {
      try {
        return await send({ signal });
      } catch (error) {
        const ms = backoffMs(failures, error);
        if (!isTemporary(error) || now() + ms > end) throw error;
        await pause(ms, signal);
        signal?.throwIfAborted();
      }
    }
  };
