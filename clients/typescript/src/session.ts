import { backoffMs, pause } from './backoff.ts';
import type { Caller } from './caller.ts';
import { DibsError, isTemporary } from './errors.ts';
import { after, type Timer } from './timer.ts';

/** Until the first line. One that comes later was held back on its way. */
const PATIENCE_MS = 5000;
/** Dibs writes a line every 3 s. */
const SILENCE_MS = 10_000;
/** Claims wait no longer for a session that is being opened or resumed. */
const CLAIMS_WAIT_MS = 1000;
/** How long the worker goes on without, where it gets no session. A third more at most, at random. */
const REST_MS = 60_000;
/** A connection that went on for so long was no failure. */
const LASTING_MS = 5000;
/** However long a Retry-After asks to wait: the session may end meanwhile. */
const LONGEST_PAUSE_MS = 3000;
/** Lines of Dibs are short. */
const LONGEST_LINE = 10_000;

const now = () => performance.now();

/** Why a connection is over: it was lost, there was no line, the session has ended, there is none to be had, or what failed. */
type End = 'lost' | 'silent' | 'ended' | 'none' | Error;

/** What the session needs of its worker. */
export interface SessionWorker {
  client: Caller;
  /** How long after the loss of its connection the session can be resumed. */
  resumeSeconds: number;
  /** Whether leases are tied to this session. */
  isNeeded(session: string): boolean;
  /** It ends, and with it the leases that are tied to it. */
  ended(session: string): void;
  /** Something has changed. */
  pump(): void;
}

/**
 * Holds a session for a worker: a connection whose loss tells Dibs that the worker is gone. When it is lost though the worker lives,
 * the session is resumed. Without one, the worker claims as ever: nothing of this is an error. See docs/sessions.md of Dibs.
 */
export class HeldSession {
  readonly #worker: SessionWorker;
  readonly #stopped = new AbortController();
  #id: string | undefined;
  #isHeld = false;
  #isSettled = true;
  #hangUp = new AbortController();
  #timer: Timer | undefined;
  #settling: Timer | undefined;

  constructor(worker: SessionWorker) {
    this.#worker = worker;
  }

  /** The session for a new claim, while it is held. */
  get id(): string | undefined {
    return this.#isHeld ? this.#id : undefined;
  }

  /** Whether claims need not wait for it. */
  get isSettled(): boolean {
    return this.#isSettled;
  }

  start(): void {
    this.#letClaimsWait();
    void this.#keep();
  }

  /** Hangs up, and opens none again. */
  stop(): void {
    this.#isHeld = false;
    this.#settling?.clear();
    this.#stopped.abort();
    this.#hangUp.abort('lost');
  }

  /** Dibs says that it has ended: to a claim, or in its own answer. Another one is opened. */
  over(session: string): void {
    if (session !== this.#id) return;
    this.#giveUp();
    this.#hangUp.abort('ended');
  }

  /** Nobody resumes it any more, so it ends. */
  #giveUp(): void {
    const session = this.#id;
    this.#id = undefined;
    this.#isHeld = false;
    if (session !== undefined) this.#worker.ended(session);
  }

  #letClaimsWait(): void {
    this.#isSettled = false;
    this.#settling = after(CLAIMS_WAIT_MS, () => this.#settle());
  }

  #settle(): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    this.#settling?.clear();
    this.#worker.pump();
  }

  async #keep(): Promise<void> {
    const { signal } = this.#stopped;
    let failures = 0;
    while (!signal.aborted) {
      const startedAt = now();
      const end = await this.#hold();
      if (signal.aborted) return;
      const hasLasted = this.#isHeld && now() - startedAt >= LASTING_MS;
      this.#isHeld = false;
      this.#settle();
      const isHopeless = end === 'silent' && !(this.#id && this.#worker.isNeeded(this.#id));
      if (end === 'none' || isHopeless) {
        this.#giveUp();
        failures = 0;
        await pause(REST_MS * (1 + Math.random() / 3), signal);
      } else {
        if (end === 'ended') this.#giveUp();
        // Each try lets a session last whose lines are kept back.
        failures = hasLasted || end === 'silent' ? 0 : failures + 1;
        if (hasLasted) this.#letClaimsWait();
        if (failures > 0) await pause(Math.min(backoffMs(failures - 1, end), LONGEST_PAUSE_MS), signal);
      }
    }
  }

  /** One connection that holds it, until its end. */
  async #hold(): Promise<End> {
    this.#hangUp = new AbortController();
    const { signal } = this.#hangUp;
    let text = '';
    this.#watch(PATIENCE_MS, 'silent');
    const heard = (part: string) => {
      const lines = (text + part).split('\n');
      text = lines.pop() ?? '';
      if (text.length > LONGEST_LINE) this.#hangUp.abort('none');
      for (const line of lines) this.#heard(line);
    };
    try {
      const body = { session: this.#id, resume_seconds: this.#worker.resumeSeconds };
      const call = { method: 'POST', path: '/sessions', body };
      await this.#worker.client.request(call, { signal, timeoutSeconds: Number.POSITIVE_INFINITY, heard });
      // Whatever that was, it was no answer of Dibs.
      return signal.aborted ? signal.reason : this.#isHeld ? 'lost' : 'none';
    } catch (error) {
      if (signal.aborted) return signal.reason;
      if (error instanceof DibsError && error.code === 'session_not_found') return 'ended';
      return isTemporary(error) ? (error as Error) : 'none';
    } finally {
      this.#timer?.clear();
    }
  }

  #watch(ms: number, end: End): void {
    this.#timer?.clear();
    this.#timer = after(ms, () => this.#hangUp.abort(end));
  }

  #heard(line: string): void {
    if (this.#hangUp.signal.aborted) return;
    let said: { session?: unknown; lost?: unknown } | null = null;
    try {
      said = JSON.parse(line);
    } catch {}
    this.#watch(SILENCE_MS, 'lost');
    if (typeof said?.session === 'string') {
      this.#id = said.session;
      this.#isHeld = true;
      this.#settle();
    }
    if (!said || !this.#isHeld) this.#hangUp.abort('none');
    else if (said.lost === 'session_ended') this.#hangUp.abort('ended');
  }
}
