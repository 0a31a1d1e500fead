import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import { type Service, startService } from '../../test/support/service.ts';
import { until } from '../../test/support/until.ts';
import type { Driver, WorkerHandle, WorkerSettings } from './driver.ts';
import { type BadProxy, startProxy } from './proxy.ts';

/** What the handler of every driver is told to do, as the payload. */
export interface Script {
  /** How long it works. */
  ms?: number;
  /** It goes on, whatever its signal says. */
  ignore_signal?: boolean;
  fail?: string;
  /** With `fail`: the job is dead at once. */
  dead?: boolean;
  /** With `fail`: how long the job rests. */
  delay_seconds?: number;
  release?: boolean;
  result?: unknown;
  /** It returns so many characters. */
  large_result?: number;
  /** Reported one after the other, before it works. */
  progress?: unknown[];
  /** A job that follows. */
  follow_up?: object;
  /** A job that it adds to its own batch. */
  in_batch?: object;
  /** The driver's decoder refuses it. */
  undecodable?: true;
  /** It ends in this odd way: one of the driver's `odd_ends`. */
  odd?: string;
  /** With `fail`: its error has these causes, from the outside in. */
  causes?: string[];
  /** With `causes`: the innermost has the error itself as its cause. */
  circle?: boolean;
  /** It calls stop() of its worker, or waits for it. */
  stop?: 'ask' | 'wait';
  note?: unknown;
}

// biome-ignore lint/suspicious/noExplicitAny: promises look into answers of every kind.
type Json = any;

/** What one promise plays on: a queue and a proxy of its own, before a Dibs that it shares. */
export class Stage {
  readonly queue = `q-${randomUUID()}`;
  readonly databaseUrl: string;
  /** Dibs itself, not the proxy. */
  readonly url: string;
  readonly proxy: BadProxy;
  readonly driver: Driver;
  readonly workers: WorkerHandle[] = [];
  /** Makes another driver. */
  readonly #open: () => Driver;
  readonly #drivers: Driver[] = [];
  /** How many times longer leases and work are than usual. A promise about time is played again, slower, before it counts as broken. */
  pace = 1;

  constructor(service: Service, url: string, proxy: BadProxy, driver: Driver, open: () => Driver) {
    this.#open = open;
    this.databaseUrl = service.databaseUrl;
    this.url = url;
    this.proxy = proxy;
    this.driver = driver;
  }

  async call(method: 'GET' | 'POST' | 'PUT' | 'DELETE', path: string, body?: unknown): Promise<Json> {
    const headers: Record<string, string> = { 'idempotency-key': randomUUID() };
    if (body !== undefined) headers['content-type'] = 'application/json';
    const sent = body === undefined || typeof body === 'string' ? body : JSON.stringify(body);
    let response: Response;
    let text: string;
    let left = 10;
    // A machine that is very busy is no broken promise.
    do {
      response = await fetch(this.url + path, { method, headers, body: sent });
      text = await response.text();
    } while (response.status === 503 && left-- > 0);
    expect(response.status, `${method} ${path}: ${text}`).toBeLessThan(300);
    return text === '' ? undefined : JSON.parse(text);
  }

  configure(config: object = {}, queue = this.queue) {
    const backoff = { kind: 'constant', base_seconds: 0, max_seconds: 0, jitter: 0 };
    return this.call('PUT', `/queues/${queue}`, { retention_seconds: 600, backoff, ...config });
  }

  async enqueue(script: Script = {}, rest: object = {}): Promise<string> {
    return (await this.call('POST', '/jobs', { queue: this.queue, payload: script, ...rest })).id;
  }

  async enqueueAll(scripts: Script[]): Promise<string[]> {
    const jobs = scripts.map((payload) => ({ queue: this.queue, payload }));
    return (await this.call('POST', '/jobs/batch', { jobs })).jobs.map(({ id }: { id: string }) => id);
  }

  #settings = (settings: Partial<WorkerSettings>): WorkerSettings => ({
    url: this.proxy.url,
    queues: [this.queue],
    concurrency: 1,
    lease_seconds: 20,
    wait_seconds: 20,
    ...settings,
  });

  start(settings: Partial<WorkerSettings> = {}): WorkerHandle {
    const worker = this.driver.start(this.#settings(settings));
    this.workers.push(worker);
    return worker;
  }

  /** A worker that has a process of its own, and runs until that gets a signal. */
  startProcess(settings: Partial<WorkerSettings> = {}): { worker: WorkerHandle; process: Driver } {
    const process = this.#open();
    this.#drivers.push(process);
    return { worker: process.start(this.#settings({ ...settings, until_signal: true })), process };
  }

  job = (id: string): Promise<Json> => this.call('GET', `/jobs/${id}`);

  /** Waits until the job is in this state, and returns it. */
  async reaches(id: string, state: string, withinMs = 60_000 * this.pace): Promise<Json> {
    let job: Json;
    const isEnd = ['completed', 'dead', 'cancelled'].includes(state);
    await until(
      async () => {
        job = await this.call('GET', `/jobs/${id}${isEnd ? '?wait_seconds=10' : ''}`);
        return job.state === state;
      },
      { what: `job ${id} ${state}; it is ${JSON.stringify(job)}`, everyMs: 100, withinMs },
    );
    return job;
  }

  reachAll = (ids: string[], state: string) => Promise.all(ids.map((id) => this.reaches(id, state)));

  /** Waits for an exchange. */
  request = (look: (exchange: BadProxy['exchanges'][number]) => unknown, what = 'a request') =>
    until(() => this.proxy.exchanges.find((one) => look(one)), { what });

  /** How often any of the workers began the job. */
  starts = (id: string): number => this.workers.flatMap((worker) => worker.all('started', id)).length;

  /** Lines that the library has logged, with this text in them: `count` of them, or all that are there now. */
  logged = (text: string, count: number): Promise<string[]> =>
    until(
      () => {
        const found = this.driver.lines.filter((line) => line.includes(text));
        return found.length >= count && found;
      },
      { what: `${count} lines with ${text}` },
    );

  /** What went through the proxy last, for whoever looks into a broken promise. */
  story(): string {
    const lines = this.proxy.exchanges
      .slice(-15)
      .map(({ path, body, status, answer, at, tookMs, isOver }) => {
        const said = JSON.stringify(body)?.slice(0, 300);
        const heard = JSON.stringify(answer)?.slice(0, 300);
        const after = tookMs === undefined ? '' : ` after ${(tookMs / 1000).toFixed(2)} s`;
        return `${(at / 1000).toFixed(2)} ${path} ${said} -> ${status}${after} ${heard}${isOver ? '' : ' (on its way)'}`;
      });
    const events = this.workers.map(
      (worker) =>
        `${worker.as}: ${worker.events
          .slice(-12)
          .map(({ event, id, code }) => `${event} ${id ?? ''} ${code ?? ''}`)
          .join('; ')}`,
    );
    return [...lines, ...events].join('\n');
  }

  async close(): Promise<void> {
    this.proxy.heal();
    for (const worker of this.workers) if (!worker.isOver) worker.askToStop(0);
    await Promise.all(this.workers.map((worker) => worker.ended()));
    for (const driver of this.#drivers) await driver.end();
    this.proxy.close();
  }
}

export async function openStage(
  service: Service,
  url: string,
  drivers: { driver: Driver; open: () => Driver },
  pace: number,
): Promise<Stage> {
  const stage = new Stage(service, url, await startProxy(url), drivers.driver, drivers.open);
  stage.pace = pace;
  await stage.configure();
  return stage;
}

export { startService };
