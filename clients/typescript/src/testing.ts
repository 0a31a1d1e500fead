import { Client } from './client.ts';
import type { Job, JobSpec, LeasedJob } from './generated.ts';
import { createJob, type Job as WorkerJob } from './job.ts';
import { Run } from './run.ts';

/**
 * For unit tests of a handler: a job as a worker would give it. `signal` and `progress` may be set.
 *
 *   await handler(fakeJob({ to: 'ada@example.com' }))
 */
export function fakeJob<P>(payload: P, given: Partial<WorkerJob<P>> = {}): WorkerJob<P> {
  const lease = leased({ id: 'job-1', queue: 'default', payload, deliveries: 1, attempt: 1 });
  return { ...createJob(new Run(lease, false), payload, async () => undefined), ...given };
}

const NO_ROUTE = { type: 'urn:problem-type:dibs:route_not_found', code: 'route_not_found' };

interface Fake {
  id: string;
  queue: string;
  payload: unknown;
  headers?: Record<string, string>;
  deliveries: number;
  /** Attempts that are charged. */
  attempt: number;
  state?: Job['state'];
  result?: unknown;
  error?: string;
  progress?: unknown;
  token?: string;
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
};

/**
 * For unit tests of producers and workers: a Dibs in memory, without delays, limits and leases that end. A failed job comes back at
 * once, up to five times. `dibs.client` is a client of it, and `dibs.jobs` has all jobs, the finished ones too.
 */
export class FakeDibs {
  readonly jobs: Fake[] = [];
  readonly client = new Client({ fetch: (url, init) => this.#answer(new URL(String(url)), init) });

  /** The jobs of a queue, or all. */
  enqueued(queue?: string): Fake[] {
    return this.jobs.filter((job) => queue === undefined || job.queue === queue);
  }

  async #answer(url: URL, init: RequestInit = {}): Promise<Response> {
    const body = JSON.parse(String(init.body ?? '{}')) as Body & JobSpec;
    const answer = await this.#route(url.pathname, body, init.signal ?? undefined);
    return new Response(JSON.stringify(answer ?? NO_ROUTE), {
      status: answer ? 200 : 404,
    });
  }

  async #route(path: string, body: Body & JobSpec, signal?: AbortSignal): Promise<object | undefined> {
    if (path === '/jobs') return this.#enqueue(body);
    if (path === '/jobs/batch') return { jobs: body.jobs?.map((spec) => this.#enqueue(spec)) };
    if (path === '/jobs/claim') return { jobs: await this.#claim(body, signal) };
    if (path === '/jobs/settle') {
      const settled = this.#settle(body);
      return body.claim ? { ...settled, jobs: await this.#claim(body.claim, signal) } : settled;
    }
    const extend = /^\/jobs\/(.+)\/extend$/.exec(path);
    return extend ? this.#extend({ ...(body as unknown as Item), id: extend[1] as string }) : undefined;
  }

  #enqueue({ queue = 'default', payload = null, headers }: JobSpec): object {
    const job: Fake = {
      id: `job-${this.jobs.length + 1}`,
      queue,
      payload,
      headers,
      deliveries: 0,
      attempt: 0,
      state: 'ready',
    };
    this.jobs.push(job);
    return { ...leased(job), state: 'ready' };
  }

  async #claim(
    { queues = ['default'], limit = 1, wait_seconds = 0 }: Body,
    signal?: AbortSignal,
  ): Promise<LeasedJob[]> {
    const endsAt = performance.now() + wait_seconds * 1000;
    for (;;) {
      const ready = this.jobs
        .filter((job) => job.state === 'ready' && queues.includes(job.queue))
        .slice(0, limit);
      for (const job of ready) {
        job.state = 'leased';
        job.deliveries++;
        job.attempt++;
        job.token = `${job.id}-${job.deliveries}`;
      }
      if (ready.length > 0 || performance.now() >= endsAt || signal?.aborted) return ready.map(leased);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }

  #settle({ acks = [], nacks = [], releases = [], extends: beats = [] }: Body): object {
    return {
      acks: acks.map((item) =>
        this.#change(item, (job) => {
          job.state = 'completed';
          job.result = item.result;
          for (const spec of item.enqueue ?? []) this.#enqueue(spec);
        }),
      ),
      nacks: nacks.map((item) =>
        this.#change(item, (job) => {
          job.error = item.error;
          job.state = item.retry === false || job.attempt >= 5 ? 'dead' : 'ready';
          if (job.state === 'dead') for (const spec of item.enqueue ?? []) this.#enqueue(spec);
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
    const job = this.jobs.find((one) => one.id === item.id && one.token === item.lease_token);
    if (job?.state !== 'leased')
      return { id: item.id, status: 409, problem: { status: 409, code: 'lease_lost' } };
    change(job);
    return { id: item.id, status: 200, state: job.state, cancel_requested: false };
  }
}
