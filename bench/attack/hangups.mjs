import { setTimeout as sleep } from 'node:timers/promises';
import { client } from '../lib/http.mjs';
import { get, post } from './requests.mjs';
import { open, write } from './sockets.mjs';

/*
 * Clients that hang up. Afterwards nothing may be held for them (run.mjs looks at the metrics). They come from an address of
 * their own: where nobody needs a key, the address is the caller.
 */

const ATTACKER = '127.0.0.2';
const LARGE = 900_000;
const LARGE_JOB = JSON.stringify({ queue: 'large', payload: 'x'.repeat(LARGE) });

/** Sends requests on some connections without waiting for answers, and hangs up. */
async function pipelined(url, connections, text, requests, ms = 1000) {
  const clients = Array.from({ length: connections }, () => open({ url, localAddress: ATTACKER }));
  await Promise.race([Promise.all(clients.map(({ socket }) => write(socket, text))), sleep(ms)]);
  await sleep(ms);
  for (const { socket } of clients) socket.destroy();
  return { requests: connections * requests, answers: '' };
}

async function looks(url, wait) {
  const http = client(url);
  const { id } = (await http.post('/jobs', LARGE_JOB)).body;
  http.close();
  return pipelined(url, 5, get(`/jobs/${id}${wait}`).repeat(80), 80);
}

const claim = (wish) => post('/jobs/claim', JSON.stringify(wish));
const waitingClaim = claim({ queues: ['none'], wait_seconds: 60 });

/** Enqueues again and again with Prefer: wait and an Idempotency-Key, and hangs up. Beside that, others long-poll. */
async function leftWaits(url, perSecond, seconds) {
  const http = client(url, 50);
  const polls = {};
  let sent = 0;
  for (let second = 0; second < seconds; second++) {
    const polling = Array.from({ length: 10 }, () =>
      http.call('POST', '/jobs/claim', JSON.stringify({ queues: ['others'], wait_seconds: 0.5 })),
    );
    const { socket } = open({ url, localAddress: ATTACKER });
    const text = Array.from({ length: perSecond }, () =>
      post('/jobs', '{"queue":"left"}', `prefer: wait=60\r\nidempotency-key: ${sent++}\r\n`),
    );
    await write(socket, text.join(''));
    for (const { status } of await Promise.all(polling)) polls[status] = (polls[status] ?? 0) + 1;
    await sleep(500);
    socket.destroy();
  }
  await http.call('DELETE', '/queues/left?force=true');
  http.close();
  return { requests: sent, answers: `long polls of others: ${JSON.stringify(polls)}` };
}

/** What waits and what is large, in all shares, from one address. Another one asks for the same meanwhile. */
async function allShares(url) {
  const http = client(url, 10);
  const bodies = post('/jobs', ' '.repeat(LARGE));
  const clients = Array.from({ length: 60 }, () => open({ url, localAddress: ATTACKER }));
  for (const { socket } of clients) socket.write(bodies.slice(0, LARGE / 2));
  const claims = open({ url, localAddress: ATTACKER });
  await write(claims.socket, waitingClaim.repeat(10_000));
  await sleep(2000);
  const answers = [];
  answers.push((await http.call('POST', '/jobs', LARGE_JOB)).status);
  answers.push((await http.call('POST', '/jobs/claim', '{"queues":["none"],"wait_seconds":0.5}')).status);
  for (const { socket } of [...clients, claims]) socket.destroy();
  http.close();
  return {
    requests: 10_060,
    answers: `an enqueue of 900 kB and a long poll of others: ${answers.join(', ')}`,
  };
}

export const HANGUPS = {
  '400 looks at a large job, pipelined': { run: (url) => looks(url, '') },
  '400 waits for a large job, pipelined': { run: (url) => looks(url, '?wait_seconds=60') },
  'bodies of 900 kB behind a claim that waits': {
    run: (url) => pipelined(url, 5, waitingClaim + post('/jobs', LARGE_JOB).repeat(20), 21, 2000),
  },
  'half a body behind a claim that waits': {
    run: (url) => pipelined(url, 50, waitingClaim + post('/jobs', LARGE_JOB).slice(0, LARGE / 2), 2),
  },
  '10 connections of 1,000 claims that wait': {
    run: (url) => pipelined(url, 10, waitingClaim.repeat(1000), 1000),
  },
  'enqueues that wait under a key, 200 a second': { run: (url) => leftWaits(url, 200, 30) },
  'one address takes what it can of all shares': { run: allShares },
};
