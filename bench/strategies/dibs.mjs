// Dibs over HTTP: each worker keeps one connection alive. It uses undici, because node:http took twice the
// processor time (48 µs a request against 24), and the workers share the machine with the service.
import { Client } from 'undici';
import { client } from '../lib/http.mjs';
import { fill, jobText, leaseOf } from '../lib/jobs.mjs';

const QUEUE = 'bench';
const HEADERS = { 'content-type': 'application/json' };

/** A connection that posts JSON, one request at a time. */
function connect(base) {
  const connection = new Client(base);
  return {
    async post(path, body) {
      const answer = await connection.request({
        method: 'POST',
        path,
        headers: HEADERS,
        body: JSON.stringify(body),
      });
      const text = await answer.body.text();
      if (answer.statusCode !== 200) throw new Error(`POST ${path}: ${answer.statusCode} ${text}`);
      return JSON.parse(text);
    },
    close: () => connection.close(),
  };
}

const single = (post) => ({
  pop: async () => (await post('/jobs/claim', { queues: [QUEUE] })).jobs,
  done: ([{ id, lease_token }]) => post(`/jobs/${id}/ack`, { lease_token }),
});

/** The worker's loop of one request for a job: it settles a job and claims the next. */
function together(post) {
  const claim = { queues: [QUEUE] };
  let next;
  return {
    async pop() {
      const jobs = next ?? (await post('/jobs/claim', claim)).jobs;
      next = undefined;
      return jobs;
    },
    async done(jobs) {
      const { acks, jobs: following } = await post('/jobs/settle', { acks: jobs.map(leaseOf), claim });
      if (acks[0].status !== 200) throw new Error(`not acked: ${JSON.stringify(acks[0])}`);
      next = following;
    },
  };
}

const batched = (post) => ({
  pop: async () => (await post('/jobs/claim', { queues: [QUEUE], limit: 100 })).jobs,
  async done(jobs) {
    const { acks } = await post('/jobs/settle', { acks: jobs.map(leaseOf) });
    const refused = acks.find(({ status }) => status !== 200);
    if (refused) throw new Error(`not acked: ${JSON.stringify(refused)}`);
  },
});

/** Dibs on one replica, one job at a time and in batches. The replica has its tables at `url`. */
export function dibsWays(replica, url) {
  const way = (name, methodsOf) => ({
    name,
    url,
    fill: (payloads) =>
      fill(replica.url, payloads.length, (i) => jobText(QUEUE, { payload: JSON.stringify(payloads[i]) })),
    async left() {
      const http = client(replica.url);
      const { counts } = (await http.json('GET', `/queues/${QUEUE}`)).body;
      http.close();
      return Object.values(counts).reduce((sum, count) => sum + count);
    },
    async worker() {
      const { post, close } = connect(replica.url);
      return { ...methodsOf(post), close };
    },
  });
  return {
    single: way('Dibs over HTTP', single),
    together: way('Dibs over HTTP, settle with claim', together),
    batched: way('Dibs over HTTP, 100 at a time', batched),
  };
}
