import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { PAYLOAD } from '../../lib/jobs.mjs';
import { workDir } from '../../lib/machine.mjs';
import { freePort } from '../../lib/ports.mjs';
import { startServer } from '../server.mjs';
import { openWire, request } from '../wire.mjs';

/** As long as a pop may wait for a message. */
const WAIT_MS = 20_000;
/** A message of a killed worker comes back when its lease ends. Its own default is 300 s. */
const LEASE_SECONDS = 5;
/** As its README starts it, with as many workers as this machine has cores, and connections for all of them. */
const ENV = { NUM_WORKERS: '2', DB_POOL_SIZE: '5', SIDECAR_POOL_SIZE: '30', LOG_LEVEL: 'error' };

/** Single jobs go to so many partitions by turns: more than there are places. */
const PARTITIONS = 64;

/**
 * A consumer leases a whole partition. So each connection pushes to one of its own, else they would wait for each other.
 * `spread`: each job of the request has a partition of its own.
 */
function pushText(queue, partition, n, payload, spread = false) {
  const items = Array.from(
    { length: n },
    (_, i) => `{"queue":"${queue}","partition":"p${spread ? i : partition}","payload":${payload}}`,
  );
  return request('POST', '/api/v1/push', `{"items":[${items.join(',')}]}`);
}
const popText = (queue, batch) =>
  request('GET', `/api/v1/pop/queue/${queue}?batch=${batch}&wait=true&timeout=${WAIT_MS}`);

function ackText(messages) {
  const acks = messages.map(({ transactionId, partitionId, leaseId }) => ({
    transactionId,
    partitionId,
    leaseId,
    status: 'completed',
  }));
  return acks.length === 1
    ? request('POST', '/api/v1/ack', JSON.stringify(acks[0]))
    : request('POST', '/api/v1/ack/batch', JSON.stringify({ acknowledgments: acks }));
}
/** An empty answer is 204. */
const messagesOf = (text) => (text === '' ? [] : (JSON.parse(text).messages ?? []));

export default {
  label: 'Queen',
  onPostgres: true,

  /** `queen` is `server/bin/queen-server` of a copy: it looks for its schema beside itself, and does not tell its version. */
  async start({ cluster, atStop, queen }) {
    const cwd = dirname(dirname(resolve(queen)));
    const { version } = JSON.parse(readFileSync(join(cwd, 'server.json'), 'utf8'));
    const buffers = await mkdtemp(join(workDir(), 'dibs-headon-queen-'));
    atStop(() => rm(buffers, { recursive: true, force: true }));
    const port = await freePort();
    const address = `http://127.0.0.1:${port}`;
    const { hostname, port: pgPort, pathname } = new URL(cluster.url);
    const env = {
      ...ENV,
      ...{ HOST: '127.0.0.1', PORT: `${port}`, PG_HOST: hostname, PG_PORT: pgPort },
      ...{ PG_DB: pathname.slice(1), PG_USER: 'postgres', PG_PASSWORD: 'none', FILE_BUFFER_DIR: buffers },
    };
    const { cpu } = await startServer(resolve(queen), [], { env, cwd, health: `${address}/health` }, atStop);
    return {
      address,
      version: `${version}, PostgreSQL ${cluster.version}`,
      durability: 'fsync and synchronous_commit on',
      cpu: () => cpu() + cluster.cpu(),
    };
  },

  /** A cycle has three requests: push; pop from any partition; ack. */
  async connect(address, { queue, connections, size = 1, spread }) {
    const wires = await Promise.all(Array.from({ length: connections }, () => openWire(address)));
    const options = { leaseTime: LEASE_SECONDS };
    await wires[0].send(request('POST', '/api/v1/configure', JSON.stringify({ queue, options })));
    const pushes = wires.map((_, i) => pushText(queue, i, size, PAYLOAD, spread));
    let singles = 0;
    const pop = popText(queue, size);
    const workers = [];

    const client = {
      finished: 0,
      enqueue: (i) => wires[i].send(pushes[i]),
      enqueueOne: (i, payload) => wires[i].send(pushText(queue, singles++ % PARTITIONS, 1, payload)),

      async cycle(i) {
        await wires[i].send(pushes[i]);
        const messages = messagesOf(await wires[i].send(pop));
        if (messages.length === 0) return;
        await wires[i].send(ackText(messages));
        client.finished += messages.length;
      },

      async work({ places, onJob }) {
        const own = await Promise.all(Array.from({ length: places }, () => openWire(address)));
        workers.push(...own);
        for (const wire of own) drain(wire, popText(queue, 1), onJob).catch(() => undefined);
      },
      close() {
        for (const wire of [...wires, ...workers]) wire.close();
      },
    };
    return client;
  },
};

/** Until its connection is closed. */
async function drain(wire, pop, onJob) {
  for (;;) {
    const messages = messagesOf(await wire.send(pop));
    for (const { data } of messages) await onJob(data);
    if (messages.length > 0) await wire.send(ackText(messages));
  }
}
