import { Client } from './client.ts';
import { FakeBatches, FakeRefusal } from './fakeBatches.ts';
import type { BatchSpec, Job, JobSpec, LeasedJob } from './generated.ts';
import { createJob, type Job as WorkerJob } from './job.ts';
import { Run } from './run.ts';

/**
 * For unit tests of a handler: a job as a worker would give it. `signal` and `progress` may be set.
 *
 *   await handler(fakeJob({ to: 'ada@example.com' }))
 */
export function fakeJob<P>(payload: P, given: Partial<WorkerJob<P>> = {}): WorkerJob<P> {
  const lease = leased({
    id: 'job-1',
    queue: 'default',
    payload,
    deliveries: 1,
    attempt: 1,
    state: 'leased',
    batch: null,
  });
  return { ...createJob(new Run(lease, false), payload, async () => undefined), ...given };
}

interface Fake {
  id: string;
  queue: string;
  payload: unknown;
  headers?: Record<string, string>;
  deliveries: number;
  /** Attempts that are charged. */
  attempt: number;
  state: Job['state'];
  batch: string | null;
  result?: unknown;
  error?: string;
  progress?: unknown;
  token?: string;
  claimId?: string | undefined;
}

const leased = (job: Fake) =>
  ({
    id: job.id,
    queue: job.queue,
    state: 'leased',
    headers: job.headers ?? {},
    priority: 0,
    attempt: job.attempt,
    max_attempts: 5,
    deliveries: job.deliveries,
    group: null,
    fairness_key: null,
    unique_key: null,
    batch: job.batch,
    run_at: new Date(0).toISOString(),
    created_at: new Date(0).toISOString(),
    lease_expires_at: new Date(0).toISOString(),
    worker: null,
    last_error: job.error ?? null,
    progress: job.progress ?? null,
    result: job.result ?? null,
    finished_at: null,
    payload_text: JSON.stringify(job.payload ?? null),
    lease_token: job.token ?? 'token',
    lease_seconds: 30,
  }) as LeasedJob;

type Item = {
  id: string;
  lease_token: string;
  result?: unknown;
  error?: string;
  retry?: boolean;
  progress?: unknown;
  enqueue?: JobSpec[];
};
type Body = Record<'acks' | 'nacks' | 'releases' | 'extends', Item[] | undefined> & {
  queues?: string[];
  limit?: number;
  wait_seconds?: number;
  jobs?: JobSpec[];
  claim?: Body;
  claim_id?: string;
};

/**
 * For unit tests of producers and workers: a Dibs in memory, without delays, limits and leases that end. A failed job comes back at
 * once, up to five times. `dibs.client` is a client of it, and `dibs.jobs` has all jobs, the finished ones too.
 */
export class FakeDibs {
  readonly jobs: Fake[] = [];
  readonly client = new Client({ fetch: (url, init) => this.#answer(new URL(String(url)), init) });
  /** The newest request of each claim, by its id. */
  readonly #claims = new Map<string, object>();
  readonly #batches = new FakeBatches(this.jobs, (spec) => this.#enqueue(spec));

  /** The jobs of a queue, or all. */
  enqueued(queue?: string): Fake[] {
    return this.jobs.filter((job) => queue === undefined || job.queue === queue);
  }

  async #answer(url: URL, init: RequestInit = {}): Promise<Response> {
    const body = JSON.parse(String(init.body ?? '{}')) as Body & JobSpec;
    try {
      const answer = await this.#route(`${init.method} ${url.pathname}`, body, init.signal ?? undefined, url);
      return new Response(JSON.stringify(answer));
    } catch (error) {
      if (!(error instanceof FakeRefusal)) throw error;
      return new Response(JSON.stringify(error.problem), { status: error.status });
    }
  }

  async #route(
    call: string,
    body: Body & JobSpec,
    signal: AbortSignal | undefined,
    url: URL,
  ): Promise<object> {
    if (call === 'POST /jobs') return this.#enqueueAll([body])[0] as object;
    if (call === 'POST /jobs/batch') return { jobs: this.#enqueueAll(body.jobs ?? []) };
    if (call === 'POST /jobs/claim') return { jobs: await this.#claim(body, signal) };
    if (call === 'POST /jobs/settle') {
      const settled = this.#settle(body);
      return body.claim ? { ...settled, jobs: await this.#claim(body.claim, signal) } : settled;
    }
    const extend = /^POST \/jobs\/(.+)\/extend$/.exec(call);
    if (extend) return this.#extend({ ...(body as unknown as Item), id: extend[1] as string });
    if (call === 'POST /batches') return this.#batches.create(body as unknown as BatchSpec);
    const [, method, id = '', close] = /^(\w+) \/batches\/([^/]+)(\/close)?$/.exec(call) ?? [];
    if (method === 'POST' && close) return this.#batches.close(this.#batches.find(id));
    if (method === 'DELETE') return this.#batches.cancel(this.#batches.find(id));
    if (method === 'GET') return this.#lookAt(id, Number(url.searchParams.get('wait_seconds') ?? 0), signal);
    throw new FakeRefusal(404, 'route_not_found');
  }

  async #lookAt(id: string, waitSeconds: number, signal: AbortSignal | undefined): Promise<object> {
    const endsAt = performance.now() + waitSeconds * 1000;
    for (;;) {
      const batch = this.#batches.shown(this.#batches.find(id));
      if (batch.finished_at || performance.now() >= endsAt || signal?.aborted) return batch;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }

  /** `own`: the batch of the job that adds them. */
  #enqueueAll(specs: JobSpec[], own?: string | null): object[] {
    this.#batches.hold(specs, own);
    return specs.map((spec) => this.#enqueue(spec));
  }

  #enqueue({ queue = 'default', payload = null, headers, batch }: JobSpec): object {
    const job: Fake = {
      id: `job-${this.jobs.length + 1}`,
      ...{ queue, payload, headers, batch: batch ?? null },
      deliveries: 0,
      attempt: 0,
      state: 'ready',
    };
    this.jobs.push(job);
    return { ...leased(job), state: 'ready' };
  }

  /** A repeat gets what the first request got. If that still waits, it is answered without jobs. */
  async #claim(request: Body, signal?: AbortSignal): Promise<LeasedJob[]> {
    const { queues = ['default'], limit = 1, wait_seconds = 0, claim_id } = request;
    if (claim_id !== undefined) {
      this.#claims.set(claim_id, request);
      const got = this.jobs.filter(({ state, claimId }) => state === 'leased' && claimId === claim_id);
      if (got.length > 0) return got.map(leased);
    }
    const endsAt = performance.now() + wait_seconds * 1000;
    while (claim_id === undefined || this.#claims.get(claim_id) === request) {
      const ready = this.jobs
        .filter((job) => job.state === 'ready' && queues.includes(job.queue))
        .slice(0, limit);
      for (const job of ready) {
        job.state = 'leased';
        job.deliveries++;
        job.attempt++;
        job.token = `${job.id}-${job.deliveries}`;
        job.claimId = claim_id;
      }
      if (ready.length > 0 || performance.now() >= endsAt || signal?.aborted) return ready.map(leased);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    return [];
  }

  #settle({ acks = [], nacks = [], releases = [], extends: beats = [] }: Body): object {
    return {
      acks: acks.map((item) =>
        this.#change(item, (job) => {
          this.#enqueueAll(item.enqueue ?? [], job.batch);
          job.state = 'completed';
          job.result = item.result;
        }),
      ),
      nacks: nacks.map((item) =>
        this.#change(item, (job) => {
          const isDead = item.retry === false || job.attempt >= 5;
          if (isDead) this.#enqueueAll(item.enqueue ?? [], job.batch);
          job.error = item.error;
          job.state = isDead ? 'dead' : 'ready';
        }),
      ),
      releases: releases.map((item) =>
        this.#change(item, (job) => {
          job.state = 'ready';
          job.attempt--;
        }),
      ),
      extends: beats.map((item) => this.#extend(item)),
    };
  }

  #extend(item: Item): object {
    return this.#change(item, (job) => {
      if ('progress' in item) job.progress = item.progress;
    });
  }

  #change(item: Item, change: (job: Fake) => void): object {
    const { id } = item;
    const job = this.jobs.find((one) => one.id === id && one.token === item.lease_token);
    try {
      if (job?.state !== 'leased') throw new FakeRefusal(409, 'lease_lost');
      change(job);
      this.#batches.look();
      return { id, status: 200, state: job.state, cancel_requested: false };
    } catch (error) {
      if (!(error instanceof FakeRefusal)) throw error;
      return { id, status: error.status, problem: error.problem };
    }
  }
}
