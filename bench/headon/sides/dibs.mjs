import { cpuSecondsOf } from '../../lib/cpu.mjs';
import { jobText, PAYLOAD } from '../../lib/jobs.mjs';
import { startReplica } from '../../lib/service.mjs';
import { openStream, openWire, request } from '../wire.mjs';

/** As long as a claim may wait for a job. */
const WAIT_SECONDS = 20;
/** A worker that dies has lost its session at once. Its leases would go on for that long. */
const SESSION = { resume_seconds: 0 };
const LEASE_SECONDS = 300;

const enqueueText = (queue, n, payload) => {
  const job = jobText(queue, { payload });
  return n === 1
    ? request('POST', '/jobs', job)
    : request('POST', '/jobs/batch', `{"jobs":[${Array(n).fill(job).join(',')}]}`);
};
const settleText = (jobs, claim) =>
  request(
    'POST',
    '/jobs/settle',
    JSON.stringify({ acks: jobs.map(({ id, lease_token }) => ({ id, lease_token })), claim }),
  );

export default {
  label: 'Dibs',
  onPostgres: true,

  async start({ cluster, atStop, dibs, machine }) {
    const replica = await startReplica(cluster.url, {}, dibs === '' ? undefined : dibs);
    atStop(replica.stop);
    return {
      address: replica.url,
      version: `${dibs === '' ? `${machine.dibs} at ${machine.commit}` : dibs}, PostgreSQL ${cluster.version}`,
      durability: 'fsync and synchronous_commit on',
      cpu: () => cpuSecondsOf(replica.pid) + cluster.cpu(),
    };
  },

  /** A cycle has two requests: enqueue; settle the last jobs and claim the next ones. */
  async connect(address, { queue, connections, size = 1 }) {
    const wires = await Promise.all(Array.from({ length: connections }, () => openWire(address)));
    const enqueue = enqueueText(queue, size, PAYLOAD);
    const claim = { queues: [queue], limit: size };
    const held = wires.map(() => []);
    const workers = [];

    const client = {
      finished: 0,
      enqueue: (i) => wires[i].send(enqueue),
      enqueueOne: (i, payload) => wires[i].send(enqueueText(queue, 1, payload)),

      async cycle(i) {
        await wires[i].send(enqueue);
        const { acks, jobs } = JSON.parse(await wires[i].send(settleText(held[i], claim)));
        for (const { status } of acks) if (status === 200) client.finished++;
        held[i] = jobs;
      },

      /** Each place has a connection. It settles its job and claims the next in one request, which waits. */
      async work({ places, onJob, mayDie }) {
        const session = mayDie ? await openSession(address) : undefined;
        const one = {
          queues: [queue],
          limit: 1,
          wait_seconds: WAIT_SECONDS,
          lease_seconds: LEASE_SECONDS,
          session,
        };
        const own = await Promise.all(Array.from({ length: places }, () => openWire(address)));
        workers.push(...own);
        for (const wire of own)
          loop(async (done) => {
            const { jobs } = JSON.parse(await wire.send(settleText(done, one)));
            for (const { payload } of jobs) await onJob(payload);
            return jobs;
          });
      },
      close() {
        for (const wire of [...wires, ...workers]) wire.close();
      },
    };
    return client;
  },
};

async function loop(work) {
  let last = [];
  try {
    for (;;) last = await work(last);
  } catch {
    // Its connection is closed: the load is over.
  }
}

function openSession(address) {
  const text = request('POST', '/sessions', JSON.stringify(SESSION));
  return new Promise((resolve, reject) => {
    openStream(address, text, (line) => {
      const { session } = JSON.parse(line);
      if (session) resolve(session);
    }).catch(reject);
  });
}
