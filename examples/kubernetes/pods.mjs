// A producer and a worker, as they would run in pods. They know the address of Dibs and the path of their token, and no
// secret.
import { readFile } from 'node:fs/promises';
import { call } from '../support/service.mjs';

/** Sends requests with the token that is in the file now: it changes every few minutes. */
export const clientOf = (url, tokenPath) => async (method, path, body) =>
  call(url, method, path, body, { authorization: `Bearer ${await readFile(tokenPath, 'utf8')}` });

/** Enqueues a mail every few milliseconds until `count` are in the queue. */
export async function produce(dibs, queue, count, everyMs) {
  for (let number = 1; number <= count; number++) {
    await dibs('POST', '/jobs', { queue, payload: { number } });
    await new Promise((next) => setTimeout(next, everyMs));
  }
}

/** Works jobs until `count` are done. Returns the numbers in their payloads. */
export async function work(dibs, queue, count) {
  const done = [];
  while (done.length < count) {
    const { jobs } = await dibs('POST', '/jobs/claim', { queues: [queue], limit: 10, wait_seconds: 5 });
    for (const { id, lease_token, payload } of jobs) {
      await dibs('POST', `/jobs/${id}/ack`, { lease_token });
      done.push(payload.number);
    }
  }
  return done;
}
