import { BatchHandle, batchOf } from './batch.ts';
import { type Caller, type CallOptions, RawJson } from './caller.ts';
import { createBatch, enqueueJob, enqueueJobs, type Job, type JobSpec } from './generated.ts';
import type { EnqueueOptions, NewBatch, ProducerOptions } from './producerOptions.ts';
import { type Repeat, repeatFor } from './repeat.ts';
import { checkTime } from './settings.ts';
import { listIn } from './shape.ts';

/** Jobs of one request, at most. */
const MOST = 1000;

/** A body, written once: a repeat with the same Idempotency-Key must send the same. @throws TypeError for what is no JSON */
const written = <Body>(body: Body): Body => new RawJson(JSON.stringify(body)) as Body;

/** Enqueues jobs. A request that failed for a while is repeated, and counts once. */
export class Producer {
  readonly #client: Caller;
  readonly #options: ProducerOptions;
  readonly #retrySeconds: number;
  readonly #repeat: Repeat;

  constructor(client: Caller, options: ProducerOptions = {}) {
    checkTime('retrySeconds', options.retrySeconds);
    this.#client = client;
    this.#options = { ...options };
    this.#retrySeconds = options.retrySeconds ?? 30;
    this.#repeat = repeatFor(this.#retrySeconds);
  }

  /** @throws DibsError, ConnectionError */
  async enqueue(
    job: JobSpec,
    { idempotencyKey = crypto.randomUUID(), signal }: EnqueueOptions = {},
  ): Promise<Job> {
    const spec = written(this.#spec(job));
    const send = async (options: CallOptions) => {
      const answer = await enqueueJob(this.#client, spec, { ...options, idempotency_key: idempotencyKey });
      return listIn<Job>({ jobs: [answer] }, 'jobs');
    };
    const [enqueued] = await this.#repeat(send, { signal });
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
      const jobs = specs.slice(at, at + MOST);
      const body = written({ jobs });
      const key = at === 0 ? idempotencyKey : `${idempotencyKey}-${at}`;
      const send = async (options: CallOptions) => {
        const answer = await enqueueJobs(this.#client, body, { ...options, idempotency_key: key });
        return listIn<Job>(answer, 'jobs', jobs.length);
      };
      enqueued.push(...(await this.#repeat(send, { signal })));
    }
    return enqueued;
  }

  /**
   * Creates a batch: jobs that belong together, and what follows their end. A repeat after a lost answer creates no second one.
   * @throws DibsError, ConnectionError
   */
  async batch(
    { jobs, onSuccess, onEnd, ...named }: NewBatch,
    { idempotencyKey = crypto.randomUUID(), signal }: EnqueueOptions = {},
  ): Promise<BatchHandle> {
    const body = written({
      jobs: jobs?.map((job) => this.#spec(job)),
      on_success: onSuccess && this.#spec(onSuccess),
      on_end: onEnd && this.#spec(onEnd),
      ...named,
    });
    const send = async (options: CallOptions) =>
      batchOf(await createBatch(this.#client, body, { ...options, idempotency_key: idempotencyKey }));
    const { id } = await this.#repeat(send, { signal });
    return this.batchById(id);
  }

  /** A batch that is there. Nothing is sent. */
  batchById(id: string): BatchHandle {
    return new BatchHandle(
      {
        client: this.#client,
        repeat: this.#repeat,
        retrySeconds: this.#retrySeconds,
        enqueue: (job, options) => this.enqueue(job, options),
        enqueueAll: (jobs, options) => this.enqueueAll(jobs, options),
      },
      id,
    );
  }

  #spec(job: JobSpec): JobSpec {
    const { queue, headers } = this.#options;
    return {
      ...job,
      queue: job.queue ?? queue,
      ...(headers && { headers: { ...headers(), ...job.headers } }),
    };
  }
}
