// A producer and a worker, as they would run in pods. They know the address of Dibs and the path of their token, and no
// secret.
import { readFile } from 'node:fs/promises';
// In a project of yours: from 'dibs-client'.
import { Client, Producer, Worker } from '../../dist/clients/typescript/src/index.js';

/** Sends requests with the token that is in the file now: it changes every few minutes. */
export const clientOf = (url, tokenPath) => new Client({ url, key: () => readFile(tokenPath, 'utf8') });

/** Enqueues a mail every few milliseconds until `count` are in the queue. */
export async function produce(dibs, queue, count, everyMs) {
  const producer = new Producer(dibs, { queue });
  for (let number = 1; number <= count; number++) {
    await producer.enqueue({ payload: { number } });
    await new Promise((next) => setTimeout(next, everyMs));
  }
}

/** Works jobs until `count` are done. Returns the numbers in their payloads. */
export async function work(dibs, queue, count) {
  const done = [];
  const worker = new Worker(dibs, { queues: [queue], waitSeconds: 5 }, ({ payload }) => {
    done.push(payload.number);
    if (done.length === count) worker.stop();
  });
  await worker.run();
  return done;
}
