import { expect, vi } from 'vitest';
import type { Answer, Service } from './service.ts';
import { relaysAreEmpty } from './severalDatabases.ts';

// biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every kind.
type Json = any;

/** The last hex digits of an id name its queue. This queue does not exist. */
export const UNKNOWN_ID = '019aa5b2-7c1e-7a3f-9d2c-4b1e5fffffff';
export const UNKNOWN_TOKEN = '6f1d2c3b-4a59-4876-8e1d-0c9b8a7f6e5d';

/** Waits until an assertion holds. It waits long, because the machine may be busy. */
export const eventually = <T>(assertion: () => Promise<T>): Promise<T> =>
  vi.waitFor(assertion, { timeout: 60_000, interval: 25 });

/** Fails unless the answer is a problem document with this code, and, if `field` is given, names that field. */
export function expectProblem(answer: Answer, status: number, code: string, field?: string): void {
  expect({ status: answer.status, code: answer.body?.code }).toEqual({ status, code });
  expect(answer.headers['content-type']).toMatch(/^application\/problem\+json/);
  if (status === 400) expect(answer.body.errors.length).toBeGreaterThan(0);
  if (field !== undefined) expect(answer.body.errors[0].path).toBe(field);
}

/** The calls that tests need on their way. Each fails unless it is answered 2xx, except `settle`. */
export function moves(service: Service) {
  let names = 0;

  async function ok(...request: Parameters<Service['call']>): Promise<Json> {
    const answer = await service.call(...request);
    expect(answer.status, answer.text).toBeLessThan(300);
    return answer.body;
  }

  const claim = async (queue: string | string[], wish: object = {}): Promise<Json[]> =>
    (await ok('POST', '/jobs/claim', { queues: [queue].flat(), ...wish })).jobs;

  return {
    ok,
    claim,
    /** A queue name that no other test of this service uses. No two have the same first part: they spread over databases. */
    newQueue: (prefix = 'q') => `${prefix}-${++names}`,
    /** A new queue in the database of this one. */
    queueBeside: (queue: string) => `${queue}.${++names}`,
    enqueue: (job: object = {}) => ok('POST', '/jobs', job),
    /** Enqueues a batch. All of its jobs have arrived, wherever their queues are. */
    async enqueueAll(jobs: object[]): Promise<Json[]> {
      const made: Json[] = (await ok('POST', '/jobs/batch', { jobs })).jobs;
      if (new Set(made.map(({ queue }) => queue)).size > 1) await relaysAreEmpty(service.databaseUrl);
      return made;
    },
    get: (id: string) => ok('GET', `/jobs/${id}`),
    configure: (queue: string, config: object) => ok('PUT', `/queues/${queue}`, config),
    /** Claims one job, and fails without one. */
    async claimOne(queue: string | string[], wish: object = {}): Promise<Json> {
      const jobs = await claim(queue, wish);
      expect(jobs).toHaveLength(1);
      return jobs[0];
    },
    /** Claims all ready jobs. Returns their payloads, in the order of the queue. */
    drain: async (queue: string | string[]): Promise<Json[]> =>
      (await claim(queue, { limit: 1000 })).map((job) => job.payload),
    settle: (verb: 'ack' | 'nack' | 'release' | 'extend', job: Json, body: object = {}) =>
      service.call('POST', `/jobs/${job.id}/${verb}`, { lease_token: job.lease_token, ...body }),
    reaches: (id: string, state: string) =>
      eventually(async () => {
        const { body } = await service.call('GET', `/jobs/${id}`);
        expect(body.state).toBe(state);
        return body;
      }),
  };
}
