import type { Caller } from './caller.ts';
import { Claiming } from './claiming.ts';
import type { Observer, SignalCode } from './events.ts';
import { decoded, outcomeAfterSignal } from './handling.ts';
import { Heartbeat } from './heartbeat.ts';
import { createJob, type Handler, type Middleware, wrapped } from './job.ts';
import { ownName } from './node.ts';
import { Ack, type Outcome, ownOutcome, Release } from './outcome.ts';
import { observerOf } from './reporting.ts';
import type { Run } from './run.ts';
import { HeldSession } from './session.ts';
import { checkTime } from './settings.ts';
import { Settling } from './settling.ts';
import { runUntilSignal } from './signals.ts';
import { after, type Timer } from './timer.ts';
import type { WorkerOptions } from './workerOptions.ts';

const now = () => performance.now();
/** How long a handler may take to end after its signal, when the worker stops. */
const LAST_MS = 1000;
/** A restart of a replica or a proxy should fit in. */
const RESUME_SECONDS = 5;
/** How long the worker then tries to send what is left, and how long it tries to take back a claim. */
const FLUSH_MS = 5000;

/**
 * Claims jobs, lets the handler work on them, extends their leases, and settles them.
 *
 *   new --run()--> running --stop(), or a refused claim--> stopping --nothing is left, or time is up--> stopped
 *
 * Three kinds of request go side by side, at most one of each: a claim that waits for jobs, an attempt to take it back when the worker
 * stops (both in Claiming), and a settlement of all that is done (Settling). While no claim waits, a settlement carries one that does
 * not wait: then there is one request for each job. `#pump` looks at what stands, and sends what is due. It is called after each
 * change. Extends go by themselves, see Heartbeat.
 */
export class Worker<Payload = unknown> {
  readonly #options: WorkerOptions;
  readonly #concurrency: number;
  readonly #handler: Handler<Payload>;
  readonly #observe: Observer;
  readonly #runs = new Set<Run>();
  readonly #heartbeat: Heartbeat;
  readonly #claiming: Claiming;
  readonly #settling: Settling;
  readonly #session: HeldSession | undefined;
  #phase: 'new' | 'running' | 'stopping' | 'stopped' = 'new';
  #timer: ReturnType<typeof setTimeout> | undefined;
  #closeUntil = 0;
  #stopTimers: Timer[] = [];
  /** By the monotonic clock: when the handlers' signals fire. */
  #deadline = Number.POSITIVE_INFINITY;
  #hasRun = false;
  #error: unknown;
  #end: () => void = () => undefined;
  readonly #ended = new Promise<void>((resolve) => {
    this.#end = resolve;
  });

  /** @throws RangeError when an option cannot work */
  constructor(client: Caller, options: WorkerOptions, handler: Handler<Payload>) {
    this.#options = { ...options };
    const name = options.name ?? ownName();
    this.#concurrency = options.concurrency ?? 10;
    if (!Number.isInteger(this.#concurrency) || this.#concurrency < 1 || this.#concurrency > 1000)
      throw new RangeError('concurrency must be a whole number from 1 to 1000');
    checkTime('stopSeconds', options.stopSeconds);
    const { session = true, resumeSeconds = RESUME_SECONDS } = options;
    checkTime('resumeSeconds', resumeSeconds, { most: 60 });
    for (const name of ['leaseSeconds', 'waitSeconds'] as const)
      checkTime(name, options[name], { mayBeInfinite: false });
    this.#handler = wrapped(handler, (options.middleware ?? []) as Middleware<Payload>[]);
    const observe = observerOf(options);
    this.#observe = observe;
    const shared = { client, observe, pump: () => this.#pump() };
    this.#heartbeat = new Heartbeat(client, this.#runs, { signal: this.#signal, observe });
    this.#claiming = new Claiming({
      ...shared,
      options: { ...options, name },
      free: () => this.#free,
      session: () => this.#session?.id,
      sessionOver: (session) => this.#session?.over(session),
      take: (run) => this.#take(run),
      refused: (error) => {
        this.#error ??= error;
        void this.stop();
      },
    });
    this.#settling = new Settling({ ...shared, done: (run) => this.#done(run) }, this.#claiming);
    const tiedTo = (session: string) => [...this.#runs].filter((run) => run.session === session);
    if (session)
      this.#session = new HeldSession({
        ...shared,
        resumeSeconds,
        isNeeded: (session) => tiedTo(session).length > 0,
        // Extends tell each handler that its lease is lost.
        ended: (session) => {
          for (const run of tiedTo(session)) run.doubt();
          this.#heartbeat.schedule();
        },
      });
  }

  /** Works until `stop`. @throws DibsError when Dibs refuses a claim for good: a name that is wrong, a key that may not */
  async run(): Promise<void> {
    if (this.#hasRun) throw new Error('a worker runs once');
    this.#hasRun = true;
    // It was stopped before it ran.
    if (this.#phase === 'stopped') return;
    this.#phase = 'running';
    this.#session?.start();
    this.#pump();
    await this.#ended;
    if (this.#error !== undefined) throw this.#error;
  }

  /** Works until SIGTERM or Ctrl-C, which stop it as `stop` does. A second one makes the deadline now. @throws as `run` */
  runUntilSignal(): Promise<void> {
    return runUntilSignal(this);
  }

  /**
   * Takes no more jobs, lets the handlers end, and resolves when they have. A second call may make the time shorter. A handler should
   * ask for it, and not wait for it: it would wait for itself, until its job is released.
   */
  async stop({ deadlineSeconds = this.#options.stopSeconds ?? 25 } = {}): Promise<void> {
    if (this.#phase === 'new') this.#finish();
    if (this.#phase === 'stopped') return;
    if (this.#phase === 'running') {
      this.#phase = 'stopping';
      this.#closeUntil = now() + FLUSH_MS;
      this.#observe({ type: 'stopping' });
    }
    this.#endWithin(deadlineSeconds > 0 ? deadlineSeconds * 1000 : 0);
    this.#pump();
    await this.#ended;
  }

  /** The earliest deadline counts. */
  #endWithin(ms: number): void {
    if (now() + ms >= this.#deadline) return;
    this.#deadline = now() + ms;
    for (const timer of this.#stopTimers) timer.clear();
    this.#stopTimers = [
      after(ms, () => {
        for (const run of this.#working()) this.#signal(run, 'stopping');
      }),
      after(ms + LAST_MS, () => {
        for (const run of this.#working()) this.#settling.add(run, new Release());
      }),
      after(ms + LAST_MS + FLUSH_MS, () => this.#finish()),
    ];
  }

  #working = () => [...this.#runs].filter((run) => run.state === 'running');

  #signal = (run: Run, code: SignalCode): void => {
    if (run.signalled || (code === 'lease_expired' && this.#options.signalExpired === false)) return;
    this.#observe({ type: 'signalled', job: run.job, code });
    run.fire(code);
  };

  get #free(): number {
    return this.#concurrency - this.#working().length;
  }

  /** Sends what is due. What is not due yet sets a timer. */
  #pump(): void {
    clearTimeout(this.#timer);
    if (this.#phase === 'new' || this.#phase === 'stopped') return;
    const at = now();
    const waits: number[] = [];
    const [claiming, settling] = [this.#claiming, this.#settling];
    if (settling.isDue) {
      const wait = settling.waitMs(at);
      if (wait <= 0) void settling.send(this.#mayClaim() && claiming.mayBeCarried(at));
      else waits.push(wait);
    }
    const isStopping = this.#phase === 'stopping';
    const isClosable = isStopping && claiming.open && !claiming.isClosing && !claiming.isCarried;
    if (isClosable) {
      if (at > this.#closeUntil) claiming.open = undefined;
      else waits.push(this.#closeUntil - at + 1);
    }
    if (this.#mayClaim() || (isClosable && claiming.open)) {
      if (claiming.notBefore > at) waits.push(claiming.notBefore - at);
      else void (isClosable ? claiming.close() : claiming.send());
    }
    if (waits.length > 0) this.#timer = setTimeout(() => this.#pump(), Math.min(...waits));
    const isIdle = !claiming.isSending && !settling.isSending && !claiming.isClosing;
    if (isStopping && isIdle && !claiming.open && this.#runs.size === 0) this.#finish();
  }

  #mayClaim = () =>
    this.#phase === 'running' &&
    !this.#claiming.isSending &&
    this.#free > 0 &&
    this.#session?.isSettled !== false;

  #finish(): void {
    if (this.#phase === 'stopped') return;
    this.#phase = 'stopped';
    clearTimeout(this.#timer);
    for (const timer of this.#stopTimers) timer.clear();
    for (const run of this.#runs) this.#done(run);
    this.#heartbeat.stop();
    this.#claiming.open?.hangUp.abort();
    this.#session?.stop();
    this.#observe({ type: 'stopped', error: this.#error });
    this.#end();
  }

  #take(run: Run): void {
    const before = [...this.#runs].filter((other) => other.job.id === run.job.id);
    this.#runs.add(run);
    if (this.#phase === 'running') run.ended = this.#work(run, before);
    else this.#settling.add(run, new Release());
    this.#heartbeat.schedule();
  }

  /** A job may come back while its old handler, whose lease is lost, still runs here: the new one waits for the end of that. */
  async #work(run: Run, before: Run[]): Promise<void> {
    await Promise.all([run.confirmed, ...before.map((other) => other.ended)]);
    const outcome = run.signalled ? outcomeAfterSignal(run, run.signal.reason) : await this.#handle(run);
    // It was released meanwhile, because the worker's time was over.
    if (run.state !== 'running') return;
    if (outcome) this.#settling.add(run, outcome);
    else {
      this.#done(run);
      this.#observe({ type: 'lost', job: run.job, verb: undefined });
      this.#pump();
    }
  }

  /** What the handler ends with, whatever it is. */
  async #handle(run: Run): Promise<Outcome | undefined> {
    const startedAt = now();
    const end = (error?: unknown) =>
      this.#observe({ type: 'ended', job: run.job, seconds: (now() - startedAt) / 1000, error });
    this.#observe({ type: 'started', job: run.job });
    try {
      const payload = (await decoded(run.job, this.#options.decode)) as Payload;
      const job = createJob(run, payload, (value) => this.#heartbeat.report(run, value));
      const answer = await this.#handler(job);
      end();
      return ownOutcome(answer) ?? new Ack({ result: answer });
    } catch (error) {
      end(error);
      return outcomeAfterSignal(run, error);
    }
  }

  #done(run: Run): void {
    run.state = 'done';
    this.#runs.delete(run);
    run.dropReport();
  }
}
