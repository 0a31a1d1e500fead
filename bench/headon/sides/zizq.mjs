import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { PAYLOAD } from '../../lib/jobs.mjs';
import { workDir } from '../../lib/machine.mjs';
import { freePort } from '../../lib/ports.mjs';
import { startServer } from '../server.mjs';
import { openPool, openStream, openWire, request } from '../wire.mjs';

/** Streams that jobs are pushed over, in the cycles. Its clients hold one for each process of workers. */
const STREAMS = 4;

const enqueueText = (queue, n, payload) => {
  const job = `{"queue":"${queue}","type":"bench","payload":${payload}}`;
  return n === 1
    ? request('POST', '/jobs', job)
    : request('POST', '/jobs/bulk', `{"jobs":[${Array(n).fill(job).join(',')}]}`);
};
const doneText = (ids) =>
  ids.length === 1
    ? request('POST', `/jobs/${ids[0]}/success`, '')
    : request('POST', '/jobs/success', JSON.stringify({ ids }));

export default {
  label: 'Zizq',

  /** `zizq` flushes at each commit, as PostgreSQL does. `zizq:buffered` is as it comes: it answers before the flush. */
  async start({ atStop, variant = 'fsync', zizq }) {
    const root = await mkdtemp(join(workDir(), 'dibs-headon-zizq-'));
    atStop(() => rm(root, { recursive: true, force: true }));
    const [port, adminPort] = [await freePort(), await freePort()];
    const address = `http://127.0.0.1:${port}`;
    const { cpu, health } = await startServer(
      zizq,
      [
        ...['serve', '--root-dir', root, '--port', `${port}`, '--admin-port', `${adminPort}`],
        ...['--default-commit-mode', variant],
        // By default 1,024 jobs are in flight at once. Batches of 1,000 over 8 connections need more.
        ...['--global-in-flight-limit', '0'],
      ],
      { health: `${address}/version` },
      atStop,
    );
    const durability = variant === 'fsync' ? 'fsync at each commit' : 'buffered: no flush before the answer';
    return { address, version: health.version, durability, cpu };
  },

  /** A cycle has two requests: enqueue; success. The jobs between them are pushed over streams. */
  async connect(address, { queue, connections, size = 1, cycles }) {
    const wires = await Promise.all(Array.from({ length: connections }, () => openWire(address)));
    const enqueue = enqueueText(queue, size, PAYLOAD);
    const opened = [];
    const pushed = createHeap();
    const take = async (prefetch, onJob) => {
      const path = `/jobs/take?queue=${queue}&prefetch=${prefetch}`;
      opened.push(await openStream(address, request('GET', path), (line) => onJob(JSON.parse(line))));
    };
    if (cycles) {
      const streams = Math.min(STREAMS, connections);
      const places = Math.ceil((connections * size) / streams);
      for (let i = 0; i < streams; i++) await take(places, ({ id }) => pushed.add(id));
    }

    const client = {
      finished: 0,
      enqueue: (i) => wires[i].send(enqueue),
      enqueueOne: (i, payload) => wires[i].send(enqueueText(queue, 1, payload)),

      async cycle(i) {
        await wires[i].send(enqueue);
        await wires[i].send(doneText(await pushed.take(size)));
        client.finished += size;
      },

      /** One stream has all places. */
      async work({ places, onJob }) {
        const pool = await openPool(address, places);
        opened.push(pool);
        await take(places, ({ id, payload }) =>
          Promise.resolve(onJob(payload))
            .then(() => pool.send(doneText([id])))
            .catch(() => undefined),
        );
      },
      close() {
        for (const one of [...wires, ...opened]) one.close();
      },
    };
    return client;
  },
};

/** Ids that came, for whoever has asked first. */
function createHeap() {
  const ids = [];
  const waiting = [];
  const serve = () => {
    while (waiting.length > 0 && ids.length >= waiting[0].count) {
      const { count, resolve } = waiting.shift();
      resolve(ids.splice(0, count));
    }
  };
  return {
    add(id) {
      ids.push(id);
      serve();
    },
    take: (count) =>
      new Promise((resolve) => {
        waiting.push({ count, resolve });
        serve();
      }),
  };
}
