import { http } from './replica.ts';

export interface Claimed {
  id: string;
  queue: string;
  lease_token: string;
  lease_expires_at: string;
  attempt: number;
  deliveries: number;
  payload: unknown;
}

/** The calls of a producer and of a worker to one replica. Each fails when the answer is not 2xx. */
export function client(url: string) {
  async function ok(method: string, path: string, body?: unknown, signal?: AbortSignal) {
    const answer = await http(url, method, path, body, { signal });
    if (answer.status >= 300) throw new Error(`${method} ${path} answered ${answer.status}: ${answer.text}`);
    return answer.body;
  }
  return {
    url,
    ok,
    enqueue: async (queue: string, job: object = {}): Promise<string> =>
      (await ok('POST', '/jobs', { queue, ...job })).id,
    claim: async (
      queues: string | string[],
      options: { limit?: number; lease_seconds?: number; wait_seconds?: number; worker?: string } = {},
      signal?: AbortSignal,
    ): Promise<Claimed[]> =>
      (await ok('POST', '/jobs/claim', { queues: [queues].flat(), lease_seconds: 600, ...options }, signal))
        .jobs,
    settle: (verb: 'ack' | 'nack' | 'release' | 'extend', job: Claimed, more: object = {}) =>
      ok('POST', `/jobs/${job.id}/${verb}`, { lease_token: job.lease_token, ...more }),
    counts: async (queue: string): Promise<Record<string, number>> =>
      (await ok('GET', `/queues/${queue}`)).counts,
  };
}

export type Client = ReturnType<typeof client>;
