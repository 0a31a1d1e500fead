import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Claimed } from './client.ts';
import { type Outcome, recordHistory } from './history.ts';
import { http } from './replica.ts';

const QUEUE = 'failover';
const PRODUCERS = 4;
const WORKERS = 6;
const LEASE_SECONDS = 3;

const oneOf = <T>(values: T[]) => values[Math.floor(Math.random() * values.length)] as T;

/**
 * Producers and workers at several replicas. They note what was answered. A request without an answer that says what
 * became of it is repeated with its key until there is one, by the producers, and left to the sweeper by the workers.
 */
export function startLoad(urls: () => string[], { pauseMs = 10 } = {}) {
  const history = recordHistory();
  const answered = new Set<string>();
  const seen = {
    firstServed: undefined as number | undefined,
    since: Number.POSITIVE_INFINITY,
    worst: { ms: 0, what: '' },
    refused: 0,
  };
  let producing = true;
  let working = true;

  /** Undefined when nobody knows what became of it. */
  async function call(path: string, body: object, headers?: Record<string, string>) {
    const sent = performance.now();
    const answer = await http(oneOf(urls()), 'POST', path, body, { headers }).catch(() => undefined);
    const ms = performance.now() - sent;
    if (ms > seen.worst.ms)
      seen.worst = { ms, what: `${path} ${answer?.status}: ${answer?.text.slice(0, 300)}` };
    if (answer?.status === 201 && sent >= seen.since) seen.firstServed ??= performance.now();
    if (answer?.status === 503) seen.refused++;
    if (answer?.status === 503 || answer === undefined) return undefined;
    if (answer.status >= 500) throw new Error(`${path} answered ${answer.status}: ${answer.text}`);
    return answer;
  }

  const outcomeOf = (answer: { status: number } | undefined): Outcome =>
    answer === undefined ? 'unknown' : answer.status === 200 ? 'done' : 'refused';

  async function produce(): Promise<void> {
    let key = randomUUID();
    while (producing) {
      const answer = await call('/jobs', { queue: QUEUE, payload: key }, { 'idempotency-key': key });
      if (answer?.status === 201) {
        history.enqueued(answer.body.id);
        answered.add(answer.body.id);
        key = randomUUID();
      }
      await sleep(pauseMs);
    }
  }

  async function work(): Promise<void> {
    while (working) {
      const claim = { queues: [QUEUE], limit: 3, lease_seconds: LEASE_SECONDS, wait_seconds: 0.5 };
      const answer = await call('/jobs/claim', claim);
      for (const job of (answer?.body.jobs ?? []) as Claimed[]) {
        const lease = history.leased(job, LEASE_SECONDS);
        // Some workers die.
        if (Math.random() < 0.05) continue;
        const sent = Date.now();
        const acked = await call(`/jobs/${job.id}/ack`, { lease_token: job.lease_token });
        history.settled(lease, 'ack', sent, outcomeOf(acked));
      }
      if (!answer) await sleep(pauseMs * 5);
    }
  }

  const producers = Array.from({ length: PRODUCERS }, produce);
  const workers = Array.from({ length: WORKERS }, work);

  return {
    answered: () => answered.size,
    leases: () => history.leases().length,
    refused: () => seen.refused,
    /** The call that waited longest for its answer. */
    worst: () => seen.worst,
    /** From now on, the first enqueue that is sent and answered 201 is of interest. */
    watch(): void {
      seen.since = performance.now();
      seen.firstServed = undefined;
    },
    servedAt: () => seen.firstServed,
    /** Ends the producers, has the queue worked off, and returns what is wrong. `left` returns the jobs that are still there. */
    async finish(left: () => Promise<string[]>): Promise<string[]> {
      producing = false;
      await Promise.all(producers);
      while ((await left()).length > 0) await sleep(200);
      working = false;
      await Promise.all(workers);
      return history.violations(new Set(await left()));
    },
    async stop(): Promise<void> {
      producing = false;
      working = false;
      await Promise.allSettled([...producers, ...workers]);
    },
  };
}
