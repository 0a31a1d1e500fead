import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** Repeats work until `end` is called. A failure of the work is what the fault causes, so it does not count. */
export function repeating(everyMs, work) {
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

async function call(url, method, path, body) {
  const response = await fetch(url + path, {
    method,
    headers: body === undefined ? {} : { 'content-type': 'application/json' },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
  return text === '' ? undefined : JSON.parse(text);
}

/** Faults of producers, workers and clients of a replica. Each begins at once, and goes on until `end`. */
export function faultsAt(url) {
  const send = (method, path, body) => call(url, method, path, body);
  const fill = (queue, count, more = {}) =>
    send('POST', '/jobs/batch', { jobs: Array.from({ length: count }, () => ({ queue, ...more })) });
  const claim = async (queue, more = {}) =>
    (await send('POST', '/jobs/claim', { queues: [queue], lease_seconds: 600, ...more })).jobs;
  const settle = (verb, { id, lease_token }, more = {}) =>
    send('POST', `/jobs/${id}/${verb}`, { lease_token, ...more });

  return {
    send,
    fill,

    /** A producer, and a worker that keeps up. */
    calm: (queue) =>
      repeating(200, async () => {
        await fill(queue, 2);
        for (const job of await claim(queue, { limit: 10 })) await settle('ack', job);
      }),

    /** A worker that is far too slow for the jobs that wait. */
    async slowWorker(queue) {
      await fill(queue, 300);
      return repeating(200, async () => {
        for (const job of await claim(queue)) await settle('ack', job);
      });
    },

    /** Workers that take jobs and are never heard of again. */
    async hangingWorkers(queue) {
      await fill(queue, 500);
      return repeating(200, () => claim(queue, { limit: 2, lease_seconds: 1 }));
    },

    /** Workers that nack what they get. The last attempt makes a job dead. */
    async failingWorkers(queue, more) {
      await fill(queue, 500, more);
      return repeating(100, async () => {
        for (const job of await claim(queue, { limit: 2 }))
          await settle('nack', job, { error: 'SMTP 421', delay_seconds: 0 });
      });
    },

    /** Many clients with queues of their own. Each queue needs a round trip, and so a connection. */
    manyQueues(prefix, count) {
      const all = Array.from({ length: count }, (_, i) => repeating(0, () => fill(`${prefix}${i}`, 1)));
      return { end: () => Promise.all(all.map(({ end }) => end())) };
    },

    /** A client that stops in the middle of a large body. The replica holds what has come. Returns its socket. */
    halfBody(bytes) {
      const { hostname, port, host } = new URL(url);
      const socket = connect(Number(port), hostname);
      socket.on('error', () => undefined);
      socket.write(
        `POST /jobs/batch HTTP/1.1\r\nHost: ${host}\r\nContent-Type: application/json\r\nContent-Length: ${bytes + 1}\r\n\r\n`,
      );
      socket.write('x'.repeat(bytes));
      return socket;
    },

    /** Batches of 3 MiB. */
    largeBatches(queue) {
      const payload = 'x'.repeat(2 ** 19);
      return repeating(1000, () => fill(queue, 6, { payload }));
    },
  };
}
