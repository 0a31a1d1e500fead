import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { client } from './client.ts';
import { http } from './replica.ts';

/** Repeats work until `end` is called. A failure of the work is what the test causes, so it does not count. */
export function repeating(everyMs: number, work: () => Promise<unknown>) {
  let isOver = false;
  const loop = (async () => {
    while (!isOver) {
      await work().catch(() => undefined);
      await sleep(everyMs);
    }
  })();
  return {
    end() {
      isOver = true;
      return loop;
    },
  };
}

const jobs = (queue: string, count: number, more: object = {}) =>
  Array.from({ length: count }, () => ({ queue, ...more }));

/** Faults of producers, workers and clients. Each returns at once, and goes on until `end`. */
export function faultsAt(url: string) {
  const { ok, claim, settle } = client(url);
  const fill = (queue: string, count: number, more?: object) =>
    ok('POST', '/jobs/batch', { jobs: jobs(queue, count, more) });

  return {
    fill,

    /** Jobs that wait, and a worker that is far too slow. */
    async slowWorker(queue: string) {
      await fill(queue, 300);
      return repeating(200, async () => {
        const [job] = await claim(queue);
        if (job) await settle('ack', job);
      });
    },

    /** Workers that take jobs and are never heard of again. */
    async hangingWorkers(queue: string) {
      await fill(queue, 500);
      return repeating(200, () => claim(queue, { limit: 2, lease_seconds: 1 }));
    },

    /** Workers that nack what they get. The last attempt makes a job dead. */
    async failingWorkers(queue: string, more: object) {
      await fill(queue, 200, more);
      return repeating(100, async () => {
        const taken = await claim(queue, { limit: 2 });
        for (const job of taken) await settle('nack', job, { error: 'SMTP 421', delay_seconds: 0 });
      });
    },

    /** Many clients with queues of their own. Each queue needs a round trip, and so a connection. */
    manyQueues: (prefix: string, count: number) => {
      const all = Array.from({ length: count }, (_, i) =>
        repeating(0, () => http(url, 'POST', '/jobs', { queue: `${prefix}${i}` })),
      );
      return { end: () => Promise.all(all.map(({ end }) => end())) };
    },

    /** A client that stops in the middle of a large body. The replica holds what has come. */
    halfBody(bytes: number): Socket {
      const { hostname, port, host } = new URL(url);
      const socket = connect(Number(port), hostname);
      socket.on('error', () => undefined);
      socket.write(
        `POST /jobs/batch HTTP/1.1\r\nHost: ${host}\r\nContent-Type: application/json\r\nContent-Length: ${bytes + 1}\r\n\r\n`,
      );
      socket.write('x'.repeat(bytes));
      return socket;
    },
  };
}
