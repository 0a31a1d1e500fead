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

/** As Queen's own benchmarks pop: what is popped is finished. */
const AUTO_ACK = 'autoack';

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
const popText = (queue, batch, more = '') =>
  request('GET', `/api/v1/pop/queue/${queue}?batch=${batch}&wait=true&timeout=${WAIT_MS}${more}`);

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

/**
 * Queen answers 200 to what failed, too, and puts messages that PostgreSQL refused into a file. Only the text tells that
 * all `n` parts of a request were done.
 */
async function sendAll(wire, text, n, mark) {
  const answer = await wire.send(text);
  const done = answer.split(mark).length - 1;
  if (done !== n) throw new Error(`${done} of ${n} ${mark}: ${answer.slice(0, 200)}`);
}
const push = (wire, text, n) => sendAll(wire, text, n, '"status":"queued"');
const ack = (wire, messages) => sendAll(wire, ackText(messages), messages.length, '"success":true');

async function popFrom(wire, text) {
  const answer = await wire.send(text);
  const { messages } = JSON.parse(answer);
  if (messages === undefined) throw new Error(`no messages: ${answer.slice(0, 200)}`);
  return messages;
}

export default {
  label: 'Queen',
  onPostgres: true,

  /** `queen` is `server/bin/queen-server` of a copy: it looks for its schema beside itself, and does not tell its version. */
  async start({ cluster, atStop, queen, variant }) {
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
      durability: `fsync and synchronous_commit on${variant === AUTO_ACK ? '; a cycle has no lease' : ''}`,
      cpu: () => cpu() + cluster.cpu(),
    };
  },

  /** A cycle has three requests: push; pop from any partition; ack. With `autoack` the pop finishes its messages. */
  async connect(address, { queue, connections, size = 1, spread, variant }) {
    const wires = await Promise.all(Array.from({ length: connections }, () => openWire(address)));
    const options = { leaseTime: LEASE_SECONDS };
    await wires[0].send(request('POST', '/api/v1/configure', JSON.stringify({ queue, options })));
    const pushes = wires.map((_, i) => pushText(queue, i, size, PAYLOAD, spread));
    let singles = 0;
    const acks = variant !== AUTO_ACK;
    const pop = popText(queue, size, acks ? '' : '&autoAck=true');
    const workers = [];

    const client = {
      finished: 0,
      enqueue: (i) => push(wires[i], pushes[i], size),
      enqueueOne: (i, payload) => push(wires[i], pushText(queue, singles++ % PARTITIONS, 1, payload), 1),

      async cycle(i) {
        await push(wires[i], pushes[i], size);
        const messages = await popFrom(wires[i], pop);
        if (acks && messages.length > 0) await ack(wires[i], messages);
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
    const messages = await popFrom(wire, pop);
    for (const { data } of messages) await onJob(data);
    if (messages.length > 0) await ack(wire, messages);
  }
}
