// A worker that hashes strings with MD5. It does 25 jobs and settles them together. It prints `ready` before
// its first claim, and `<place> <md5>` for each job whose ack was accepted. SIGTERM stops it.
import { createHash } from 'node:crypto';

const { DIBS_URL: url = 'http://127.0.0.1:8080', QUEUE: queue = 'strings', WORKER: worker } = process.env;

const stop = new AbortController();
process.on('SIGTERM', () => stop.abort());

async function post(path, body, signal) {
  const response = await fetch(url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal,
  });
  const answer = await response.json();
  if (!response.ok) throw new Error(`${path} was refused: ${answer.detail}`);
  return answer;
}

const md5 = (text) => createHash('md5').update(text).digest('hex');

async function claim() {
  const body = { queues: [queue], worker, limit: 25, lease_seconds: 60, wait_seconds: 30 };
  const { jobs } = await post('/jobs/claim', body, stop.signal);
  return jobs;
}

async function work(jobs) {
  if (jobs.length === 0) return;
  const sums = jobs.map((job) => md5(job.payload.string));
  const { acks } = await post('/jobs/settle', {
    acks: jobs.map(({ id, lease_token }) => ({ id, lease_token })),
  });
  for (const [i, ack] of acks.entries())
    if (ack.status === 200) console.log(`${jobs[i].payload.place} ${sums[i]}`);
}

console.log('ready');
try {
  while (!stop.signal.aborted) await work(await claim());
} catch (error) {
  if (error.name !== 'AbortError') throw error;
}
