import { backoffMs, pause } from './backoff.ts';
import type { Caller, CallOptions } from './caller.ts';
import { DibsError, isTemporary } from './errors.ts';
import { messageOf } from './errorText.ts';
import { type Batch, cancelBatch, closeBatch, getBatch, type Job, type JobSpec } from './generated.ts';
import type { EnqueueOptions, WaitOptions } from './producerOptions.ts';
import type { Repeat } from './repeat.ts';
import { checkTime } from './settings.ts';
import { listIn } from './shape.ts';

/** A batch has not ended in time. It goes on. If Dibs was away at the end, `cause` is the last error. */
export class BatchTimeoutError extends Error {
  override name = 'BatchTimeoutError';
  readonly code = 'timeout';
  /** As it was seen last, if it was seen. */
  readonly batch: Batch | undefined;

  constructor(message: string, batch: Batch | undefined, options?: ErrorOptions) {
    super(message, options);
    this.batch = batch;
  }
}

/** What a batch needs of its producer. */
export interface BatchProducer {
  client: Caller;
  repeat: Repeat;
  /** For how long `repeat` goes on. */
  retrySeconds: number;
  enqueue(job: JobSpec, options?: EnqueueOptions): Promise<Job>;
  enqueueAll(jobs: JobSpec[], options?: EnqueueOptions): Promise<Job[]>;
}

/** One request of a wait asks Dibs to wait so long. */
const WAIT_SECONDS = 20;
const now = () => performance.now();

export const batchOf = (answer: unknown): Batch =>
  listIn<Batch & Record<string, unknown>>({ batches: [answer] }, 'batches')[0] as Batch;

const hasEnded = ({ state }: Batch) => state === 'succeeded' || state === 'ended';

/**
 * A batch, by its id. All else is in Dibs, so any process may take it up: `producer.batchById(id)`.
 * Its methods throw DibsError, such as `batch_not_found`, and ConnectionError.
 */
export class BatchHandle {
  readonly id: string;
  readonly #producer: BatchProducer;

  constructor(producer: BatchProducer, id: string) {
    this.#producer = producer;
    this.id = id;
  }

  /** Enqueues a job in the batch, as `enqueue` does. @throws DibsError `batch_closed` */
  add(job: JobSpec, options?: EnqueueOptions): Promise<Job> {
    return this.#producer.enqueue({ ...job, batch: this.id }, options);
  }

  /** Enqueues jobs in the batch, as `enqueueAll` does. @throws DibsError `batch_closed` */
  addAll(jobs: JobSpec[], options?: EnqueueOptions): Promise<Job[]> {
    return this.#producer.enqueueAll(
      jobs.map((job) => ({ ...job, batch: this.id })),
      options,
    );
  }

  /**
   * No more jobs come in, but those that its own jobs add. So it can end.
   * @throws DibsError `batch_closed` when it was closed before
   */
  close({ signal }: { signal?: AbortSignal } = {}): Promise<void> {
    const { client, repeat } = this.#producer;
    let tries = 0;
    const send = async (options: CallOptions) => {
      const isRepeat = tries++ > 0;
      try {
        batchOf(await closeBatch(client, this.id, options));
      } catch (error) {
        const isClosed = error instanceof DibsError && error.code === 'batch_closed';
        // If it is a repeat, an earlier one has closed it, and its answer was lost.
        if (!isClosed || !isRepeat) throw error;
      }
    };
    return repeat(send, { signal });
  }

  /** As it is now. The key needs the scope `read`. */
  get({ signal }: { signal?: AbortSignal } = {}): Promise<Batch> {
    const { client, repeat } = this.#producer;
    return repeat(async (options) => batchOf(await getBatch(client, this.id, options)), { signal });
  }

  /**
   * The batch when it has `succeeded`, or `ended` with dead or cancelled jobs. It must be closed for that. The key needs the scope `read`.
   * @throws BatchTimeoutError
   */
  async wait({ timeoutSeconds = Number.POSITIVE_INFINITY, signal }: WaitOptions = {}): Promise<Batch> {
    checkTime('timeoutSeconds', timeoutSeconds);
    const { client, repeat, retrySeconds } = this.#producer;
    const endsAt = now() + timeoutSeconds * 1000;
    let [began, wait_seconds] = [0, 0];
    let batch: Batch | undefined;
    const tooLate = (why: string, options?: ErrorOptions) => {
      const message = `the batch ${this.id} has not ended within ${timeoutSeconds} s: ${why}`;
      return new BatchTimeoutError(message, batch, options);
    };
    const look = async (options: CallOptions) => {
      began = now();
      wait_seconds = Math.min(WAIT_SECONDS, Math.max(0, endsAt - began) / 1000);
      return batchOf(await getBatch(client, this.id, { ...options, wait_seconds }));
    };
    for (let early = 0; ; ) {
      // If not, the producer gives up before that, and tells its error.
      const isLast = endsAt <= now() + (WAIT_SECONDS + retrySeconds) * 1000;
      try {
        batch = await repeat(look, { signal, endsAt, heldSeconds: WAIT_SECONDS });
      } catch (error) {
        if (!isLast || !isTemporary(error)) throw error;
        await pause(endsAt - now(), signal);
        signal?.throwIfAborted();
        throw tooLate(messageOf(error), { cause: error });
      }
      if (hasEnded(batch)) return batch;
      if (now() >= endsAt) throw tooLate(`it is ${batch.state}`);
      // A Dibs that stops answers at once.
      early = now() - began < wait_seconds * 500 ? early + 1 : 0;
      if (early > 0) await pause(Math.min(backoffMs(early, undefined), endsAt - now()), signal);
      signal?.throwIfAborted();
    }
  }

  /**
   * Closes it, and cancels its jobs that wait. Those that are leased go on. Nothing follows it any more. The key needs the scope `admin`.
   */
  cancel({ signal }: { signal?: AbortSignal } = {}): Promise<Batch> {
    const { client, repeat } = this.#producer;
    return repeat(async (options) => batchOf(await cancelBatch(client, this.id, options)), { signal });
  }
}
