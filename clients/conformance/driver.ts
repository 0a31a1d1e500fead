import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { until } from '../../test/support/until.ts';

// biome-ignore lint/suspicious/noExplicitAny: payloads are of every kind.
type Json = any;

/** What a driver says. README.md explains each event. */
export interface DriverEvent {
  event:
    | 'started'
    | 'finished'
    | 'signal'
    | 'retrying'
    | 'refused'
    | 'stopped'
    | 'failed'
    | 'enqueued'
    | 'made'
    | 'batch'
    | 'odd_ends';
  as: string;
  id?: string;
  code?: string;
  text?: string;
  names?: string[];
  attempt?: number;
  deliveries?: number;
  headers?: Record<string, string>;
  payload_text?: string;
  progress?: Json;
  ids?: string[];
  /** Of a batch. */
  state?: string;
  counts?: Record<string, number>;
  /** When it was read, in ms by the monotonic clock. */
  at: number;
}

/** What a key function does at one of its calls: the last one is for all that follow. */
export type KeyStep = { key: string } | { fail: string } | { hang: true };

export interface ClientSettings {
  key?: string | KeyStep[];
  key_file?: string;
  timeout_seconds?: number | 'forever';
}

export interface WorkerSettings extends ClientSettings {
  url: string;
  queues: string[];
  concurrency?: number;
  lease_seconds?: number;
  wait_seconds?: number;
  stop_seconds?: number | 'forever';
  name?: string;
  /** Whether it holds a session. Default: true. */
  session?: boolean;
  resume_seconds?: number;
  stop_first?: boolean;
  /** It runs until SIGTERM, in the main thread, and the driver ends with it. */
  until_signal?: boolean;
  stop_on?: 'claimed' | 'started' | 'ended' | 'settled' | 'retrying';
}

/** What a producer does with a batch, in this order. */
export interface BatchSettings extends ClientSettings {
  /** It makes this one, as `POST /batches` takes it. */
  batch?: object;
  /** In place of that, it takes up this one. */
  id?: string;
  add?: object[];
  close?: true;
  cancel?: true;
  /** It waits for the end, so long. Else it looks. */
  wait_seconds?: number;
}

/** One worker in the driver's process. */
export class WorkerHandle {
  readonly as: string;
  readonly events: DriverEvent[] = [];
  readonly #say: (command: object) => void;

  constructor(as: string, say: (command: object) => void) {
    this.as = as;
    this.#say = say;
  }

  /** What happened to a job, or to all. */
  all(event: DriverEvent['event'], id?: string): DriverEvent[] {
    return this.events.filter((one) => one.event === event && (id === undefined || one.id === id));
  }

  /** Set when the driver itself has ended. */
  #isGone = false;
  gone(): void {
    this.#isGone = true;
  }

  #check(): void {
    if (this.#isGone) throw new Error('the driver has ended');
  }

  async seen(event: DriverEvent['event'], id?: string, count = 1): Promise<DriverEvent> {
    const found = await until(
      () => {
        const all = this.all(event, id);
        if (all.length < count) this.#check();
        return all.length >= count && all[count - 1];
      },
      {
        what: `${count} × ${event}${id ? ` of ${id}` : ''} of ${this.as}; it saw ${JSON.stringify(this.events)}`,
      },
    );
    return found;
  }

  askToStop(seconds?: number): void {
    this.#say({ do: 'stop', as: this.as, seconds });
  }

  /** Kills its process, as SIGKILL does. */
  kill(): void {
    this.#say({ do: 'kill', as: this.as });
  }

  /** Cancels its run(). */
  cancel(): void {
    this.#say({ do: 'cancel', as: this.as });
  }

  async stop(seconds?: number): Promise<void> {
    this.askToStop(seconds);
    await this.ended();
  }

  /** Its end, and the code of its error. */
  async ended(withinMs = 60_000): Promise<string | undefined> {
    const last = await until(
      () => this.events.find(({ event }) => event === 'stopped' || event === 'failed'),
      { what: `the end of ${this.as}`, withinMs },
    );
    return last.event === 'failed' ? last.code : undefined;
  }

  /** All that its errors said. */
  get texts(): string {
    return this.events.map(({ text = '', code = '' }) => `${code} ${text}`).join('\n');
  }

  get isOver(): boolean {
    return this.events.some(({ event }) => event === 'stopped' || event === 'failed');
  }
}

/** A process that drives one library. It may have many workers. */
export function startDriver([program, ...args]: [string, ...string[]], env: Record<string, string> = {}) {
  const child = spawn(program, args, {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
  });
  const handles = new Map<string, WorkerHandle>();
  const say = (command: object) => child.stdin.write(`${JSON.stringify(command)}\n`);
  let count = 0;
  const lines: string[] = [];
  child.stdin.on('error', () => undefined);
  child.on('exit', (code) => {
    if (code) process.stderr.write(`${lines.slice(-50).join('\n')}\n`);
    for (const handle of handles.values()) handle.gone();
  });
  createInterface({ input: child.stderr }).on('line', (line) => lines.push(line));
  createInterface({ input: child.stdout }).on('line', (line) => {
    const event = JSON.parse(line) as DriverEvent;
    handles.get(event.as)?.events.push({ ...event, at: performance.now() });
  });
  const open = () => {
    const handle = new WorkerHandle(`w${++count}`, say);
    handles.set(handle.as, handle);
    return handle;
  };
  return {
    /** What it wrote to standard error: there a library writes its log. */
    lines,
    start(settings: WorkerSettings): WorkerHandle {
      const handle = open();
      say({ do: 'start', as: handle.as, ...settings });
      return handle;
    },
    /** Lets the library's producer enqueue. */
    enqueue(
      url: string,
      jobs: object[],
      settings: ClientSettings & { retry_seconds?: number | 'forever' } = {},
    ): WorkerHandle {
      const handle = open();
      say({ do: 'enqueue', as: handle.as, url, jobs, ...settings });
      return handle;
    },
    /** Lets the library's producer make, fill and await a batch. */
    batch(url: string, settings: BatchSettings): WorkerHandle {
      const handle = open();
      say({ do: 'batch', as: handle.as, url, ...settings });
      return handle;
    },
    /** The names of the odd ways in which its handlers can end. */
    async oddEnds(): Promise<string[]> {
      const handle = open();
      say({ do: 'odd_ends', as: handle.as });
      return (await handle.seen('odd_ends')).names as string[];
    },
    signal: (name: NodeJS.Signals) => child.kill(name),
    /** With which code its process ends. */
    exited: once(child, 'exit').then(([code]) => code as number | null),
    async end(): Promise<void> {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.stdin.end();
      const timer = setTimeout(() => child.kill('SIGKILL'), 10_000);
      await once(child, 'exit');
      clearTimeout(timer);
    },
  };
}

export type Driver = ReturnType<typeof startDriver>;
