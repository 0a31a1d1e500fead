// The sides of the comparison. Each side runs one round of all measures on an empty database of its own.
import { fileURLToPath } from 'node:url';
import { fill, jobText } from '../lib/jobs.mjs';
import { settle } from '../lib/postgres.mjs';
import { startReplica } from '../lib/service.mjs';
import { run, trouble, wrk } from '../lib/wrk.mjs';
import * as bullmq from './bullmq.mjs';
import * as dibs from './dibs.mjs';
import * as graphile from './graphile-worker.mjs';
import * as pgBoss from './pg-boss.mjs';
import { startRedis } from './redis.mjs';

const CHILD = fileURLToPath(new URL('./child.mjs', import.meta.url));
const QUEUE = 'bench';
/** Connections for batches: the best of the numbers tried. */
const BATCH_CONNECTIONS = { 100: 32, 1000: 4 };
/** Each load of wrk runs for this time before it counts: connections open, code is compiled. */
const WARM_SECONDS = 1;
const FLUSHED = 'flushed before the answer';

const roundInChild = async (plan) => {
  const out = await run(process.execPath, [CHILD, JSON.stringify(plan)], { seconds: 120 });
  return JSON.parse(/^RESULT (.*)$/m.exec(out)[1]);
};

/** Runs a round on a new PostgreSQL database. */
const onPostgres = (postgres, round) => async (plan) => {
  await postgres.drop('peers');
  return round(await postgres.database('peers'), plan);
};

const inReplica = (round) => async (database, plan) => {
  const replica = await startReplica(database);
  try {
    return await round(replica.url, database, plan);
  } finally {
    await replica.stop();
  }
};

/** Dibs under wrk with this number of connections. Only with `batches` it also measures batches. */
const overHttp = (connections, batches) =>
  inReplica(async (url, database, { seconds, backlog, sizes }) => {
    const job = jobText(QUEUE);
    const found = { drain: {}, enqueue: {}, notes: [] };
    const load = async (counter, script, size, args) => {
      await settle(database);
      const how = { script, connections: size === 1 ? connections : BATCH_CONNECTIONS[size], args };
      await wrk(url, { ...how, seconds: WARM_SECONDS });
      const result = await wrk(url, { ...how, seconds });
      if (trouble(result)) found.notes.push(`${script}: ${trouble(result)}`);
      return counter(result) / result.seconds;
    };
    for (const size of batches ? [1, 100] : [1]) {
      await fill(url, 2 * backlog[size], job);
      found.drain[size] = await load((r) => r.acked, 'drain', size, [QUEUE, `${size}`]);
    }
    for (const size of batches ? sizes : [1])
      found.enqueue[size] =
        size === 1
          ? await load((r) => r.requests - r.not_2xx, 'enqueue', size, [job])
          : await load((r) => r.created, 'enqueue-batch', size, [job, `${size}`]);
    return found;
  });

const onRedis = (appendfsync) => async (plan) => {
  const redis = await startRedis(appendfsync);
  try {
    return await roundInChild({ peer: 'bullmq', url: redis.url, ...plan });
  } finally {
    await redis.stop();
  }
};

export const sidesOn = (postgres) => {
  const inNode = (peer) => (database, plan) => roundInChild({ peer, url: database, database, ...plan });
  const on = (round) => onPostgres(postgres, round);
  return [
    {
      ...{
        name: 'Dibs, 64 connections',
        label: 'Dibs, 64',
        isDurable: true,
        durability: FLUSHED,
        isDibs: true,
      },
      settings: `wrk; batches of 100 and 1,000 at ${BATCH_CONNECTIONS[100]} and ${BATCH_CONNECTIONS[1000]} connections`,
      round: on(overHttp(64, true)),
    },
    {
      ...{
        name: 'Dibs, 256 connections',
        label: 'Dibs, 256',
        isDurable: true,
        durability: FLUSHED,
        isDibs: true,
      },
      settings: 'wrk',
      round: on(overHttp(256, false)),
    },
    {
      ...{
        name: 'Dibs, Node client',
        label: 'Dibs, Node',
        isDurable: true,
        durability: FLUSHED,
        isDibs: true,
      },
      settings: dibs.settings,
      round: on(inReplica((url, database, plan) => roundInChild({ peer: 'dibs', url, database, ...plan }))),
    },
    {
      ...{ name: 'pg-boss', label: 'pg-boss', isDurable: true, durability: FLUSHED, package: 'pg-boss' },
      settings: pgBoss.settings,
      round: on(inNode('pg-boss')),
    },
    {
      ...{ name: 'graphile-worker', label: 'graphile', isDurable: true, durability: FLUSHED },
      ...{ package: 'graphile-worker', settings: graphile.settings },
      round: on(inNode('graphile-worker')),
    },
    {
      ...{ name: 'BullMQ on PostgreSQL', label: 'BullMQ, pg', isDurable: true, durability: FLUSHED },
      ...{ package: 'bullmq', settings: bullmq.postgresSettings },
      round: on(inNode('bullmq')),
    },
    {
      ...{ name: 'BullMQ on Redis, `appendfsync always`', label: 'BullMQ, always', isDurable: true },
      ...{ durability: FLUSHED, package: 'bullmq', settings: bullmq.settings },
      round: onRedis('always'),
    },
    {
      ...{ name: 'BullMQ on Redis, `appendfsync everysec`', label: 'BullMQ, 1 s', isDurable: false },
      ...{ durability: '**less**: a crash loses up to a second or two', package: 'bullmq' },
      settings: bullmq.settings,
      round: onRedis('everysec'),
    },
  ];
};
