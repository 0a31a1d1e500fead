import { backoffMs, pause } from './backoff.ts';
import type { Caller, CallOptions } from './caller.ts';
import { isTemporary } from './errors.ts';
import { enqueueJob, enqueueJobs, type Job, type JobSpec } from './generated.ts';
import { checkTime } from './settings.ts';
import { listIn } from './shape.ts';

export interface ProducerOptions {
  /** The queue of jobs that name none. Default: `default`. */
  queue?: string;
  /** For how long a request is repeated while its failures may pass. Default: 30. `Infinity`: for ever. */
  retrySeconds?: number;
  /** Headers for each job, such as a `traceparent`. The job's own go first. */
  headers?(): Record<string, string>;
}

export interface EnqueueOptions {
  /** Default: a new one for each call, so that a repeat after a lost answer enqueues nothing more. */
  idempotencyKey?: string;
  signal?: AbortSignal;
}

/** Jobs of one batch, at most. */
const MOST = 1000;
const now = () => performance.now();

/** Enqueues jobs. A request that failed for a while is repeated, and counts once. */
export class Producer {
  readonly #client: Caller;
  readonly #options: ProducerOptions;

  constructor(client: Caller, options: ProducerOptions = {}) {
    checkTime('retrySeconds', options.retrySeconds);
    this.#client = client;
    this.#options = options;
  }

  /** @throws DibsError, ConnectionError */
  async enqueue(
    job: JobSpec,
    { idempotencyKey = crypto.randomUUID(), signal }: EnqueueOptions = {},
  ): Promise<Job> {
    const spec = this.#spec(job);
    const send = async (options: CallOptions) => {
      const answer = await enqueueJob(this.#client, spec, { ...options, idempotency_key: idempotencyKey });
      return listIn<Job>({ jobs: [answer] }, 'jobs');
    };
    const [enqueued] = await this.#repeat(send, signal);
    return enqueued as Job;
  }

  /** All of them or, when one is refused, none: up to 1000 in one request. More go in several, each all or none. */
  async enqueueAll(
    jobs: JobSpec[],
    { idempotencyKey = crypto.randomUUID(), signal }: EnqueueOptions = {},
  ): Promise<Job[]> {
    const specs = jobs.map((job) => this.#spec(job));
    const enqueued: Job[] = [];
    for (let at = 0; at < specs.length; at += MOST) {
      const body = { jobs: specs.slice(at, at + MOST) };
      const key = at === 0 ? idempotencyKey : `${idempotencyKey}-${at}`;
      const send = async (options: CallOptions) => {
        const answer = await enqueueJobs(this.#client, body, { ...options, idempotency_key: key });
        return listIn<Job>(answer, 'jobs', body.jobs.length);
      };
      enqueued.push(...(await this.#repeat(send, signal)));
    }
    return enqueued;
  }

  #spec(job: JobSpec): JobSpec {
    const { queue, headers } = this.#options;
    return { queue, ...job, ...(headers && { headers: { ...headers(), ...job.headers } }) };
  }

  async #repeat<T>(send: (options: CallOptions) => Promise<T>, signal?: AbortSignal): Promise<T> {
    const endsAt = now() + (this.#options.retrySeconds ?? 30) * 1000;
    for (let failures = 0; ; failures++) {
      try {
        return await send({ signal });
      } catch (error) {
        const ms = backoffMs(failures, error);
        if (!isTemporary(error) || now() + ms > endsAt) throw error;
        await pause(ms, signal);
        signal?.throwIfAborted();
      }
    }
  }
}
