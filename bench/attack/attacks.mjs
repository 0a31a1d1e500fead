import { setTimeout as sleep } from 'node:timers/promises';
import { client } from '../lib/http.mjs';
import { besideTransaction, flood, LOCKED } from '../lib/locks.mjs';
import { BODIES, SETTLEMENTS } from './bodies.mjs';
import { get, post } from './requests.mjs';
import { each, head, open, tally, withLength, write } from './sockets.mjs';

/*
 * The attacks: each takes the address of a replica, and returns how many requests it sent and how they were answered.
 * `prepare` runs before memory is measured.
 */

const MIB = 2 ** 20;
const BODY = 16 * MIB;
const AT_ONCE = 50;

/** Sends a part of a body of 16 MiB, and then nothing more. */
async function stoppingBodies(url, count, bytes, seconds) {
  const part = Buffer.alloc(64 * 1024, ' ');
  const clients = [];
  await each(count, AT_ONCE, async () => {
    const client = open({ url });
    clients.push(client);
    await write(client.socket, withLength('POST', '/jobs/batch', BODY));
    for (let sent = 0; sent < bytes && client.socket.writable; sent += part.length)
      await Promise.race([write(client.socket, part), client.answered]);
  });
  return { requests: count, answers: await closing(clients, seconds) };
}

async function closing(clients, seconds) {
  const answers = await tally(clients, seconds * 1000);
  for (const { socket } of clients) socket.destroy();
  return answers;
}

/** Sends a byte of a body now and then. */
async function trickling(url, count, chunked, seconds) {
  const start = chunked
    ? head('POST', '/jobs/batch', 'transfer-encoding: chunked\r\n')
    : withLength('POST', '/jobs/batch', BODY);
  const clients = Array.from({ length: count }, () => open({ url }));
  for (const { socket } of clients) socket.write(start);
  const timer = setInterval(() => {
    for (const { socket } of clients) if (socket.writable) socket.write(chunked ? '1\r\n \r\n' : ' ');
  }, 2000);
  const answers = await closing(clients, seconds);
  clearInterval(timer);
  return { requests: count, answers };
}

/** Sends whole bodies as fast as they are taken. */
async function wholeBodies(url, count, [path, text], atOnce = AT_ONCE) {
  const body = Buffer.from(text);
  const clients = [];
  await each(count, atOnce, async () => {
    const client = open({ url });
    clients.push(client);
    await write(client.socket, withLength('POST', path, body.length));
    await Promise.race([write(client.socket, body), client.answered]);
    await client.answered;
  });
  return { requests: count, answers: await closing(clients, 30) };
}

/** Sends a body in chunks of one byte: six bytes on the wire for each. */
async function tinyChunks(url, count) {
  const part = Buffer.from('1\r\n \r\n'.repeat(20_000));
  const clients = [];
  await each(count, count, async () => {
    const client = open({ url });
    clients.push(client);
    await write(client.socket, head('POST', '/jobs/batch', 'transfer-encoding: chunked\r\n'));
    for (let i = 0; i < 100 && client.socket.writable; i++)
      await Promise.race([write(client.socket, part), client.answered]);
  });
  return { requests: count, answers: await closing(clients, 40) };
}

/** Asks for large answers and never reads them. */
async function neverReading(url, count, request, seconds) {
  const clients = Array.from({ length: count }, () => open({ url, reads: false }));
  for (const { socket } of clients) {
    socket.pause();
    socket.write(request);
  }
  await sleep(seconds * 1000);
  for (const { read } of clients) read();
  return { requests: count, answers: await closing(clients, 5) };
}

async function fill(url, jobs, bytes) {
  const http = client(url, 4);
  const payload = JSON.stringify('x'.repeat(bytes - 2));
  const perBatch = Math.max(1, Math.min(1000, Math.floor((4 * MIB) / bytes)));
  const body = `{"jobs":[${Array.from({ length: perBatch }, () => `{"queue":"large","payload":${payload}}`).join()}]}`;
  for (let i = 0; i < jobs; i += perBatch) await http.post('/jobs/batch', body);
  http.close();
}

const claim = (wish) => post('/jobs/claim', JSON.stringify(wish));

async function lists(url, count, query) {
  const http = client(url, count);
  const counts = {};
  await each(count, count, async () => {
    const { status } = await http.call('GET', query);
    counts[status] = (counts[status] ?? 0) + 1;
  });
  http.close();
  return { requests: count, answers: JSON.stringify(counts) };
}

const sixteen = (i) => Array.from({ length: 16 }, (_, q) => `waited-${i}-${q}`);

async function createQueues(url, names) {
  const http = client(url, AT_ONCE);
  await each(names.length, AT_ONCE, (i) => http.call('PUT', `/queues/${names[i]}`, {}));
  http.close();
}

/** Each claim waits for 16 queues of its own. */
async function waitingClaims(url, count, seconds) {
  const clients = [];
  await each(count, 200, async (i) => {
    const client = open({ url });
    clients.push(client);
    const queues = sixteen(i);
    await write(client.socket, claim({ queues, wait_seconds: 60 }));
  });
  await sleep(1000);
  return { requests: count, answers: await closing(clients, seconds) };
}

/** Each client needs what an open transaction holds. */
const waitingForLocks = (url, databaseUrl, kinds, count, seconds) =>
  besideTransaction(databaseUrl, async (user) => {
    const http = client(url, count);
    const calls = [];
    for (const [i, kind] of kinds.entries()) calls.push(await kind(http, user, `held.${i}`));
    const counts = await flood(calls, count, seconds);
    http.close();
    const requests = Object.values(counts).reduce((sum, n) => sum + n, 0);
    return { requests, answers: JSON.stringify(counts) };
  });

const dense = BODIES['1000 jobs of 16 KiB'];
const PAGE = '/jobs?include=payload&limit=300&queue=large';

async function nothing(seconds) {
  await sleep(seconds * 1000);
  return { requests: 0, answers: '' };
}

export const MEMORY = {
  'none, to compare': { run: () => nothing(10) },
  'bodies that stop at 15 of 16 MiB': { run: (url) => stoppingBodies(url, 150, 15 * MIB, 45) },
  'bodies of a byte now and then': { run: (url) => trickling(url, 1500, false, 45) },
  'the same, chunked': { run: (url) => trickling(url, 1500, true, 45) },
  'complete bodies of 16 MiB': { run: (url) => wholeBodies(url, 200, dense) },
  'chunks of one byte': { run: (url) => tinyChunks(url, 20) },
  'a list of 300 MB': { prepare: (url) => fill(url, 300, MIB), run: (url) => lists(url, 1, PAGE) },
  '60 lists of 300 MB': { prepare: (url) => fill(url, 300, MIB), run: (url) => lists(url, 60, PAGE) },
  'clients that never read a list': {
    prepare: (url) => fill(url, 60, MIB),
    run: (url) => neverReading(url, 60, get(PAGE), 50),
  },
  'clients that never read a claim': {
    prepare: (url) => fill(url, 1000, MIB),
    run: (url) => neverReading(url, 60, claim({ queues: ['large'], limit: 1000 }), 50),
  },
  'clients that never read a job, 100 times each': {
    prepare: (url) => fill(url, 4, MIB),
    async run(url) {
      const http = client(url);
      const [job] = (await http.json('GET', '/jobs?queue=large&limit=1')).body.jobs;
      http.close();
      return neverReading(url, 60, get(`/jobs/${job.id}`).repeat(100), 50);
    },
  },
  'waiting claims of 16 unknown queues': { run: (url) => waitingClaims(url, 5000, 20) },
  'waiting claims of 4,800 queues': {
    prepare: (url) => createQueues(url, Array.from({ length: 300 }, (_, i) => sixteen(i)).flat()),
    run: (url) => waitingClaims(url, 300, 20),
  },
};

/** Calls behind the locks of one open transaction. */
export const LOCKS = {
  ...Object.fromEntries(
    Object.entries(LOCKED).map(([name, kind]) => [
      name,
      { run: (url, databaseUrl) => waitingForLocks(url, databaseUrl, [kind], 60, 10) },
    ]),
  ),
  'all locks together': {
    run: (url, databaseUrl) => waitingForLocks(url, databaseUrl, Object.values(LOCKED), 300, 20),
  },
};

/** The largest delay of the event loop that one body causes. */
export const FREEZES = Object.fromEntries([
  ...Object.entries(SETTLEMENTS).map(([name, settlement]) => [
    name,
    { prepare: fillKeeping, run: (url) => settlements(url, settlement) },
  ]),
  ...Object.entries(BODIES).flatMap(([name, body]) => [
    [name, { run: (url) => wholeBodies(url, 3, body, 1) }],
    ...(body[0] === '/jobs/batch'
      ? [[`${name}, with an Idempotency-Key`, { run: (url) => keyed(url, body) }]]
      : []),
  ]),
]);

const TIMES = 3;

/** Jobs of a queue that keeps results. */
async function fillKeeping(url) {
  const http = client(url);
  await http.call('PUT', '/queues/kept', JSON.stringify({ retention_seconds: 3600 }));
  for (let i = 0; i < TIMES; i++)
    await http.post('/jobs/batch', `{"jobs":[${Array(1000).fill('{"queue":"kept"}').join()}]}`);
  http.close();
}

/** Settles 1000 leases at once, some times. */
async function settlements(url, [list, members]) {
  const http = client(url);
  const answers = [];
  for (let i = 0; i < TIMES; i++) {
    const wish = JSON.stringify({ queues: ['kept'], limit: 1000, lease_seconds: 600 });
    const { jobs } = (await http.json('POST', '/jobs/claim', wish)).body;
    const items = jobs.map(
      ({ id, lease_token }) => `{"id":"${id}","lease_token":"${lease_token}",${members}}`,
    );
    const done = await wholeBodies(url, 1, ['/jobs/settle', `{"${list}":[${items.join()}]}`], 1);
    answers.push(done.answers);
  }
  http.close();
  return { requests: TIMES, answers: answers.join(', ') };
}

async function keyed(url, [path, text]) {
  const body = Buffer.from(text);
  const one = open({ url });
  await write(one.socket, withLength('POST', path, body.length, `idempotency-key: ${Math.random()}\r\n`));
  await Promise.race([write(one.socket, body), one.answered]);
  return { requests: 1, answers: await closing([one], 60) };
}
