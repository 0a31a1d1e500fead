import { randomUUID } from 'node:crypto';
import http from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

const QUEUE = 'rolling';
const PRODUCERS = 8;
const WORKERS = 12;
/** Between two requests of a producer. The fleet is loaded, and not at its limit: a refusal would not be of the restart. */
const PAUSE_MS = 20;
const RETRY_MS = 100;

/** Producers and workers that retry a request once. They note what was answered. */
export function startLoad(url) {
  const agent = new http.Agent({ keepAlive: true });
  const counts = { requests: 0, retried: 0, failed: 0 };
  const why = new Map();
  /** By the number of the job: its ids that were answered, and the ids that were delivered and acked. */
  const jobs = new Map();
  const unanswered = new Set();
  let isOver = false;
  let drained = false;

  const once = (method, path, body, headers = {}) =>
    new Promise((resolve, reject) => {
      const request = http.request(`${url}${path}`, {
        method,
        agent,
        headers: { 'content-type': 'application/json', ...headers },
      });
      request.on('error', reject);
      request.on('response', (response) => {
        let text = '';
        response.on('data', (chunk) => {
          text += chunk;
        });
        response.on('error', reject);
        response.on('aborted', () => reject(new Error('aborted')));
        response.on('end', () => resolve({ status: response.statusCode, body: text && JSON.parse(text) }));
      });
      request.end(JSON.stringify(body));
    });

  async function attempt(...request) {
    const [method, path] = request;
    const note = (reason) => {
      const key = `${method} ${path.replace(/[0-9a-f-]{36}/, ':id')}: ${reason}`;
      why.set(key, (why.get(key) ?? 0) + 1);
    };
    try {
      const answer = await once(...request);
      if (answer.status < 500 && answer.status !== 429) return answer;
      note(answer.status);
    } catch (error) {
      note(error.code ?? error.message);
    }
    return undefined;
  }

  /** The answer, or undefined when the retry failed, too. `isRetried` tells that the first attempt may have been done. */
  async function call(...request) {
    counts.requests++;
    const first = await attempt(...request);
    if (first) return { ...first, isRetried: false };
    counts.retried++;
    await sleep(RETRY_MS);
    const second = await attempt(...request);
    if (!second) counts.failed++;
    return second && { ...second, isRetried: true };
  }

  const of = (n) => {
    const known = jobs.get(n) ?? { answered: undefined, delivered: [], acked: [] };
    jobs.set(n, known);
    return known;
  };

  let next = 0;
  async function produce() {
    while (!isOver) {
      const n = next++;
      // The key makes the retry harmless: the job is there once.
      const answer = await call(
        'POST',
        '/jobs',
        { queue: QUEUE, payload: { n } },
        { 'idempotency-key': randomUUID() },
      );
      if (answer?.status === 201) of(n).answered = answer.body.id;
      else unanswered.add(n);
      await sleep(PAUSE_MS);
    }
  }

  async function work() {
    while (!drained) {
      // The claim_id makes the retry harmless: it gets the leases of the first attempt.
      const claim = { queues: [QUEUE], limit: 5, wait_seconds: 2, lease_seconds: 10, claim_id: randomUUID() };
      const claimed = await call('POST', '/jobs/claim', claim);
      for (const { id, lease_token, payload } of claimed?.body.jobs ?? []) {
        of(payload.n).delivered.push(id);
        const acked = await call('POST', `/jobs/${id}/ack`, { lease_token });
        // After a retry: the first attempt was done, and its answer was lost.
        if (acked?.status === 200 || acked?.status === 204) of(payload.n).acked.push(id);
        else if (acked)
          why.set(
            `ack: ${acked.status} ${acked.body.code}`,
            (why.get(`ack: ${acked.status} ${acked.body.code}`) ?? 0) + 1,
          );
      }
    }
  }

  const producers = Array.from({ length: PRODUCERS }, produce);
  const workers = Array.from({ length: WORKERS }, work);

  async function stop() {
    isOver = true;
    drained = true;
    await Promise.all([...producers, ...workers]);
    agent.destroy();
  }

  return {
    counts: () => ({ ...counts, answered: [...jobs.values()].filter((job) => job.answered).length }),
    stop,
    /** Ends the producers, lets the workers drain the queue, and returns all that was seen. */
    async finish() {
      isOver = true;
      await Promise.all(producers);
      for (let empty = 0; empty < 3; ) {
        const { body } = (await call('GET', `/queues/${QUEUE}`)) ?? {};
        empty = body && body.counts.ready + body.counts.leased === 0 ? empty + 1 : 0;
        await sleep(500);
      }
      await stop();
      return { jobs, unanswered, counts, why };
    },
  };
}
