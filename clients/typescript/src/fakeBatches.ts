import type { Batch, BatchSpec, BatchState, Job, JobSpec } from './generated.ts';

/** What `FakeDibs` refuses a request with. */
export class FakeRefusal extends Error {
  readonly status: number;
  readonly code: string;
  constructor(status: number, code: string) {
    super(`FakeDibs: ${code}`);
    this.status = status;
    this.code = code;
  }

  get problem(): object {
    const { status, code, message: detail } = this;
    return { type: `urn:problem-type:dibs:${code}`, title: code, status, code, detail };
  }
}

interface FakeJob {
  batch: string | null;
  state: Job['state'];
}
type FakeBatch = Pick<BatchSpec, 'queue' | 'name' | 'on_success' | 'on_end'> & {
  id: string;
  closed: boolean;
};

const NONE = { scheduled: 0, ready: 0, blocked: 0, leased: 0, completed: 0, cancelled: 0, dead: 0 };
const AT = new Date(0).toISOString();

/** The batches of `FakeDibs`. */
export class FakeBatches {
  readonly #jobs: FakeJob[];
  readonly #enqueue: (spec: JobSpec) => unknown;
  readonly #batches: FakeBatch[] = [];

  constructor(jobs: FakeJob[], enqueue: (spec: JobSpec) => unknown) {
    this.#jobs = jobs;
    this.#enqueue = enqueue;
  }

  /** @throws FakeRefusal */
  find(id: string): FakeBatch {
    const found = this.#batches.find((one) => one.id === id);
    if (!found) throw new FakeRefusal(404, 'batch_not_found');
    return found;
  }

  /** Before jobs come in. A job of the batch `own` adds them. @throws FakeRefusal */
  hold(specs: JobSpec[], own?: string | null): void {
    for (const { batch } of specs)
      if (batch !== undefined && batch !== own && this.find(batch).closed)
        throw new FakeRefusal(409, 'batch_closed');
  }

  create({ queue, name, jobs = [], on_success, on_end, closed = false }: BatchSpec): Batch {
    const batch = { id: `batch-${this.#batches.length + 1}`, queue, name, on_success, on_end, closed };
    this.#batches.push(batch);
    for (const job of jobs) this.#enqueue({ ...job, batch: batch.id });
    this.look();
    return this.shown(batch);
  }

  close(batch: FakeBatch): Batch {
    if (batch.closed) throw new FakeRefusal(409, 'batch_closed');
    batch.closed = true;
    this.look();
    return this.shown(batch);
  }

  cancel(batch: FakeBatch): Batch {
    batch.closed = true;
    batch.on_success = undefined;
    batch.on_end = undefined;
    for (const job of this.#own(batch)) if (job.state === 'ready') job.state = 'cancelled';
    this.look();
    return this.shown(batch);
  }

  /** Lets followers come where all jobs are finished. One may be of another batch. */
  look(): void {
    while (this.#batches.some((batch) => this.#follow(batch)));
  }

  shown(batch: FakeBatch): Batch {
    const { id, queue, name = null, closed } = batch;
    const counts = { ...NONE };
    for (const { state } of this.#own(batch)) counts[state]++;
    const state = this.#state(batch);
    const hasEnded = state === 'succeeded' || state === 'ended';
    return {
      ...{ id, name, queue, state, counts },
      followers: (['on_end', 'on_success'] as const).filter((kind) => batch[kind]),
      created_at: AT,
      closed_at: closed ? AT : null,
      finished_at: hasEnded ? AT : null,
    };
  }

  #own = ({ id }: FakeBatch) => this.#jobs.filter((job) => job.batch === id);

  #state(batch: FakeBatch): BatchState {
    if (!batch.closed) return 'open';
    const own = this.#own(batch);
    const awaits = (spec?: JobSpec) => spec?.batch === batch.id;
    if (
      own.some(({ state }) => state === 'ready' || state === 'leased') ||
      this.#batches.some(({ on_end, on_success }) => awaits(on_end) || awaits(on_success))
    )
      return 'running';
    return own.every(({ state }) => state === 'completed') ? 'succeeded' : 'ended';
  }

  /** Whether something followed it. */
  #follow(batch: FakeBatch): boolean {
    const state = this.#state(batch);
    const followers: JobSpec[] = [];
    if (batch.on_end && (state === 'succeeded' || state === 'ended')) {
      followers.push(batch.on_end);
      batch.on_end = undefined;
    }
    if (batch.on_success && state === 'succeeded') {
      followers.push(batch.on_success);
      batch.on_success = undefined;
    }
    for (const job of followers) this.#enqueue(job);
    return followers.length > 0;
  }
}
