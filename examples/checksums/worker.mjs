// A worker in Node without dependencies. It does 10 jobs side by side, acks each when it is done, and extends
// their leases while it works. SIGTERM stops it.
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';

const url = process.env.DIBS_URL ?? 'http://127.0.0.1:8080';
const queue = process.env.QUEUE ?? 'checksums';
const worker = process.env.WORKER ?? `node-${process.pid}`;
const leaseSeconds = Number(process.env.LEASE_SECONDS ?? 30);

const stop = new AbortController();
for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => stop.abort());

/**
 * Waits and tries again at 429, at 503 and while the service is away. Other answers go to the caller. An ack
 * may be sent twice. A claim whose answer was lost leaves leases that run out.
 */
async function post(path, body, signal) {
  for (;;) {
    let seconds = 1;
    try {
      const response = await fetch(url + path, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
        signal,
      });
      const answer = await response.json();
      if (response.status !== 429 && response.status !== 503) return { status: response.status, ...answer };
      seconds = Number(response.headers.get('retry-after') ?? 1);
    } catch (error) {
      if (signal?.aborted) throw error;
      console.error(`${worker}: trying again: ${error.cause?.message ?? error.message}`);
    }
    await sleep(seconds * 1000, undefined, { signal });
  }
}

/** Hangs up when the worker is asked to stop: a claim whose client is gone gets no job. */
async function claim() {
  const body = { queues: [queue], worker, limit: 10, lease_seconds: leaseSeconds, wait_seconds: 20 };
  const answer = await post('/jobs/claim', body, stop.signal);
  if (answer.status !== 200) throw new Error(`the claim was refused: ${answer.detail}`);
  return answer.jobs;
}

async function settle(job, verb, body) {
  const answer = await post(`/jobs/${job.id}/${verb}`, { lease_token: job.lease_token, ...body });
  // The lease was lost meanwhile: another worker has the job.
  if (answer.status === 409 || answer.status === 404) console.error(`${worker}: too late for ${job.id}`);
  else if (answer.status !== 200) throw new Error(`${verb} was refused: ${answer.detail}`);
}

async function work(job) {
  const hash = createHash('sha256');
  try {
    await pipeline(createReadStream(job.payload.path), hash);
  } catch (error) {
    return settle(job, 'nack', { error: error.message, retry: false });
  }
  return settle(job, 'ack', { result: { sha256: hash.digest('hex') } });
}

async function workAll(jobs) {
  const held = new Map(jobs.map((job) => [job.id, job.lease_token]));
  const heartbeat = setInterval(() => {
    const leases = [...held].map(([id, lease_token]) => ({ id, lease_token, lease_seconds: leaseSeconds }));
    post('/jobs/settle', { extends: leases });
  }, leaseSeconds * 400);
  await Promise.all(jobs.map((job) => work(job).then(() => held.delete(job.id))));
  clearInterval(heartbeat);
}

try {
  while (!stop.signal.aborted) await workAll(await claim());
} catch (error) {
  if (error.name !== 'AbortError') throw error;
}
