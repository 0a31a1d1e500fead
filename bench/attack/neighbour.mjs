// A thread of its own: one client that enqueues, claims and acks small jobs, one cycle after the other.
import { setTimeout as sleep } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { client } from '../lib/http.mjs';

const PAUSE_MS = 10;
const { url, queue } = workerData;
const http = client(url, 1, 30_000);
const times = [];
const failures = {};
let going = true;
parentPort.once('message', () => {
  going = false;
});

async function timed(path, body) {
  const { status, ms, text } = await http.call('POST', path, body);
  times.push(ms);
  if (status < 300) return JSON.parse(text);
  failures[status] = (failures[status] ?? 0) + 1;
  return undefined;
}

async function cycle() {
  await timed('/jobs', { queue, payload: { n: times.length } });
  const claimed = await timed('/jobs/claim', { queues: [queue] });
  for (const { id, lease_token } of claimed?.jobs ?? []) await timed(`/jobs/${id}/ack`, { lease_token });
}

while (going) {
  await cycle().catch((error) => {
    failures[error.code ?? error.message] = (failures[error.code ?? error.message] ?? 0) + 1;
  });
  await sleep(PAUSE_MS);
}
http.close();
parentPort.postMessage({ times, failures });
