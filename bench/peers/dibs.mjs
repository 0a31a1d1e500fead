// Dibs with a Node client like those of the peers (node:http, keep-alive), beside the service's process.
import { client } from '../lib/http.mjs';
import { jobText, leaseOf } from '../lib/jobs.mjs';
import { loops } from './measure.mjs';

const WORKERS = { 1: 64, 100: 8 };

export const settings = `${WORKERS[1]} keep-alive connections, ${WORKERS[100]} for batches, \`node:http\``;

export async function open({ url, data }) {
  const http = client(url, 80);
  const bodies = new Map();
  const job = (queue) => jobText(queue, { payload: JSON.stringify(data) });
  const bodyOf = (count) => {
    if (!bodies.has(count)) bodies.set(count, `{"jobs":[${Array(count).fill(job('bench')).join(',')}]}`);
    return bodies.get(count);
  };
  const single = job('bench');

  return {
    producers: { 1: 64, 100: 8, 1000: 8 },
    add: () => http.post('/jobs', single),
    addMany: (count) => http.post('/jobs/batch', bodyOf(count)),

    // A loop settles what another or itself claimed last, and claims in the same request.
    drain: (size) => async (done) => {
      const claimed = [];
      const claim = { queues: ['bench'], limit: size };
      return loops(WORKERS[size], async () => {
        const acks = claimed.pop() ?? [];
        const { jobs } = (await http.post('/jobs/settle', { acks, claim })).body;
        if (acks.length > 0) done(acks.length);
        if (jobs.length > 0) claimed.push(jobs.map(leaseOf));
        return acks.length + jobs.length;
      });
    },

    async waker(started) {
      let stopped = false;
      const waiting = (async () => {
        while (!stopped) {
          const { jobs } = (await http.post('/jobs/claim', { queues: ['wake'], wait_seconds: 1 })).body;
          if (jobs.length === 0) continue;
          started();
          await http.post(`/jobs/${jobs[0].id}/ack`, { lease_token: jobs[0].lease_token });
        }
      })();
      const text = job('wake');
      return {
        add: () => http.post('/jobs', text),
        stop: () => {
          stopped = true;
          return waiting;
        },
      };
    },

    close: async () => http.close(),
  };
}
