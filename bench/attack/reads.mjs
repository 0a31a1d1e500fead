import { client } from '../lib/http.mjs';
import { each } from './sockets.mjs';

/*
 * Reads that need no key, or the scope `read` alone, repeated by many connections for some seconds. Each reader asks for what its
 * turn says: the same as all others, or something of its own.
 */

const SECONDS = 10;
const JOBS = 30_000;
const QUEUES = 40;

/** Jobs of many queues, most of them delayed and in one batch: looks walk over those. Returns the batch. */
async function prepare(url) {
  const http = client(url, 4);
  for (let q = 0; q < QUEUES; q++) await http.post('/jobs', { queue: `own-${q}`, delay_seconds: 3600 });
  const { body: batch } = await http.post('/batches', { queue: 'looked-at' });
  const body = JSON.stringify({
    jobs: Array(1000).fill({ queue: 'looked-at', delay_seconds: 3600, batch: batch.id }),
  });
  for (let i = 0; i < JOBS; i += 1000) await http.post('/jobs/batch', body);
  http.close();
  return batch.id;
}

async function reading(url, readers, pathOf) {
  const http = client(url, readers);
  const until = performance.now() + SECONDS * 1000;
  const answers = {};
  let requests = 0;
  await each(readers, readers, async (reader) => {
    while (performance.now() < until) {
      const { status } = await http.call('GET', pathOf(reader, requests++));
      answers[status] = (answers[status] ?? 0) + 1;
    }
  });
  http.close();
  return { requests, answers: JSON.stringify(answers) };
}

function attack(readers, pathOf) {
  let batch;
  return {
    async prepare(url) {
      batch = await prepare(url);
    },
    run: (url) => reading(url, readers, (reader, turn) => pathOf(reader, turn, batch)),
  };
}

const KINDS = [
  '/queues/looked-at',
  '/queues/looked-at/explain',
  '/queues?limit=1000',
  '/jobs?queue=looked-at&limit=100',
  '/overview?limit=1000',
  '/overview/samples',
  '/metrics',
  '/schedules',
  '/operations',
  '/readyz',
];

export const READS = {
  'reads: 60 of /readyz': attack(60, () => '/readyz'),
  'reads: 40 of one queue': attack(40, () => '/queues/looked-at'),
  'reads: 40 of one explain': attack(40, () => '/queues/looked-at/explain'),
  'reads: 40 of explains of their own': attack(40, (reader) => `/queues/own-${reader}/explain`),
  'reads: 40 of searches of their own': attack(
    40,
    (reader) => `/jobs?queue=looked-at&worker=nobody-${reader}&limit=100`,
  ),
  'reads: 40 of one batch': attack(40, (_reader, _turn, batch) => `/batches/${batch}`),
  'reads: 200 waits for one batch': attack(
    200,
    (_reader, _turn, batch) => `/batches/${batch}?wait_seconds=10`,
  ),
  'reads: 40 of all kinds': attack(40, (_, turn) => KINDS[turn % KINDS.length]),
};
