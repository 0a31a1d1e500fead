import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { PAYLOAD } from '../../lib/jobs.mjs';

const CONSUMER = 'bench';
/** pgqd ticks once a second, and a queue with few events every three. Events wait for a tick, so this ticks much sooner. */
const TICK_MS = 20;
const CONFIG = { ticker_max_count: '1', ticker_max_lag: '1 millisecond' };
/** A consumer that finds no batch asks again so soon. */
const POLL_MS = 5;
/** Producers wait while the consumer is so many events behind. */
const BACKLOG = 50_000;

const INSERT = {
  name: 'insert',
  text: `select count(pgq.insert_event($1, 'job', event)) from unnest($2::text[]) as event`,
};

async function open(url) {
  const client = new pg.Client(url);
  client.on('error', () => undefined);
  await client.connect();
  return client;
}

export default {
  label: 'PgQ',
  onPostgres: true,
  /** All who ask as the one consumer get the same batch, until it is finished: the next one may only ask when this one is dead. */
  hasOneWorker: true,

  async start({ cluster, atStop }) {
    const client = await open(cluster.url);
    const { rows } = await client.query(`select from pg_available_extensions where name = 'pgq'`);
    if (rows.length === 0)
      throw new Error(`PostgreSQL ${cluster.version} has no PgQ: install it, or name another one`);
    await client.query('create extension pgq');
    const [{ version }] = (await client.query('select pgq.version()')).rows;
    let isOver = false;
    const ticker = (async () => {
      while (!isOver) {
        await client.query({ name: 'tick', text: 'select pgq.ticker()' });
        await sleep(TICK_MS);
      }
    })();
    atStop(async () => {
      isOver = true;
      await ticker.catch(() => undefined);
      await client.end();
    });
    return {
      address: cluster.url,
      version: `${version}, PostgreSQL ${cluster.version}`,
      durability: 'fsync and synchronous_commit on',
      cpu: cluster.cpu,
    };
  },

  /**
   * A cycle is one statement: insert_event. Beside all connections one consumer takes batches as they come (next_batch,
   * get_batch_events, finish_batch).
   */
  async connect(address, { queue, connections, size = 1, cycles }) {
    const clients = [];
    for (let i = 0; i < connections; i++) clients.push(await open(address));
    const consumer = await open(address);
    await consumer.query('select pgq.create_queue($1)', [queue]);
    for (const [name, value] of Object.entries(CONFIG))
      await consumer.query('select pgq.set_queue_config($1, $2, $3)', [queue, name, value]);
    await consumer.query('select pgq.register_consumer($1, $2)', [queue, CONSUMER]);
    const events = Array(size).fill(PAYLOAD);
    let inserted = 0;
    let isOver = false;
    const waiting = [];

    async function consume(onBatch) {
      while (!isOver) {
        const batch = await oneOf(consumer, 'next', 'select pgq.next_batch($1, $2) as it', [queue, CONSUMER]);
        if (batch === null) {
          await sleep(POLL_MS);
          continue;
        }
        const text = 'select ev_id, ev_data from pgq.get_batch_events($1)';
        const { rows } = await consumer.query({ name: 'get', text, values: [batch] });
        await onBatch(rows);
        await oneOf(consumer, 'finish', 'select pgq.finish_batch($1) as it', [batch]);
        client.finished += rows.length;
        for (const go of waiting.splice(0)) go();
      }
    }

    const insert = (i, values) => clients[i].query({ ...INSERT, values: [queue, values] });
    const client = {
      finished: 0,
      enqueue: (i) => insert(i, events),
      enqueueOne: (i, payload) => insert(i, [payload]),

      async cycle(i) {
        while (inserted - client.finished > BACKLOG) await new Promise((go) => waiting.push(go));
        inserted += size;
        await insert(i, events);
      },

      async work({ onJob }) {
        consume((rows) => Promise.all(rows.map(({ ev_data }) => onJob(JSON.parse(ev_data))))).catch(
          () => undefined,
        );
      },
      async close() {
        isOver = true;
        await Promise.allSettled([...clients, consumer].map((one) => one.end()));
      },
    };
    if (cycles) consume(() => undefined).catch(() => undefined);
    return client;
  },
};

async function oneOf(client, name, text, values) {
  const { rows } = await client.query({ name, text, values });
  return rows[0].it;
}
