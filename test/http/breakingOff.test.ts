import { afterAll, beforeAll, describe, test } from 'vitest';
import { heldIn, nothingIsHeld } from '../support/ledger.ts';
import { moves } from '../support/moves.ts';
import { head, headOf, type RawClient, rawClient } from '../support/rawClient.ts';
import { type Service, startService } from '../support/service.ts';
import { until } from '../support/until.ts';

const KIB = 1024;
const LARGE = 300 * KIB;
/** Sooner than any time limit of connections or waits, of 30 s and more. */
const SOON_MS = 20_000;

let service: Service;
let at: ReturnType<typeof moves>;
let url: string;
/** A job that nobody finishes. */
let id: string;
beforeAll(async () => {
  service = await startService({ limits: { unreadMs: 500 } });
  at = moves(service);
  url = await service.listen();
  ({ id } = await at.enqueue({ queue: 'looked.at', payload: 'x'.repeat(LARGE) }));
  for (let i = 0; i < 10; i++) await at.enqueue({ queue: 'listed', payload: 'x'.repeat(LARGE) });
});
afterAll(() => service.stop());

const scrape = async () => (await service.call('GET', '/metrics')).text;
const held = async () => heldIn(await scrape());
/** More bytes than one answer of `/healthz`, and fewer than a refusal. */
const HEALTH_BYTES = 350;
/** What was answered may hold nothing any more when `/metrics` is read. */
const isHeldOrAnswered = ({ socket }: RawClient) =>
  until(async () => Object.keys(await held()).length > 0 || socket.bytesRead > HEALTH_BYTES, {
    what: 'something held',
  });

const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`;
function post(path: string, body: object, header = 'X-Nothing: 0'): string {
  const text = JSON.stringify(body);
  return `${head(path, `${header}\r\nContent-Length: ${text.length}`)}${text}`;
}
const claimed = (queue: string, more: object = {}) =>
  post('/jobs/claim', { queues: [queue, `${queue}.b`, `${queue}.c`], wait_seconds: 60, ...more });
const largeJob = { queue: 'broken', payload: 'y'.repeat(LARGE) };
const byteByByte = (bytes: number) => '1\r\n \r\n'.repeat(bytes);
let names = 0;
const key = () => `Prefer: wait=60\r\nIdempotency-Key: key-${++names}`;

/** What is sent. Those that wait do so for a minute. */
const REQUESTS: [string, () => string][] = [
  ['a claim that waits', () => claimed('none')],
  ['a claim with a claim_id that waits', () => claimed('none', { claim_id: `c${++names}` })],
  ['a repeated claim', () => claimed('none', { claim_id: `c${++names}` }).repeat(2)],
  ['a settlement with a claim that waits', () => post('/jobs/settle', { claim: { wait_seconds: 60 } })],
  ['a claim of large jobs', () => post('/jobs/claim', { queues: ['listed'], limit: 5 })],
  ['a wait for a job', () => get(`/jobs/${id}?wait_seconds=60`)],
  ['an enqueue that waits', () => post('/jobs', { queue: 'waited' }, 'Prefer: wait=60')],
  ['a large enqueue that waits', () => post('/jobs', largeJob, 'Prefer: wait=60')],
  ['an enqueue that waits under a key', () => post('/jobs', { queue: 'waited' }, key())],
  ['a large enqueue that waits under a key', () => post('/jobs', largeJob, key())],
  ['a repeat of an enqueue that waits', () => post('/jobs', { queue: 'waited' }, key()).repeat(2)],
  ['a look at a large job', () => get(`/jobs/${id}`)],
  ['a large list', () => get('/jobs?queue=listed&include=payload')],
  ['a large enqueue', () => post('/jobs', largeJob)],
  ['a large body that is refused', () => post('/jobs/batch', { jobs: [largeJob, { unknown: 1 }] })],
  ['a part of a large body', () => headOf('/jobs', LARGE) + 'x'.repeat(LARGE / 2)],
  ['the head of a large body', () => headOf('/jobs/batch', LARGE)],
  ['a part of a small body', () => `${headOf('/jobs', 10 * KIB)}{"queue":`],
  [
    'a part of a chunked body',
    () => `${head('/jobs', 'Transfer-Encoding: chunked')}4000\r\n${' '.repeat(0x2000)}`,
  ],
  ['a body that is refused', () => headOf('/jobs', 50 * KIB * KIB) + ' '.repeat(LARGE)],
  ['more answers than a connection takes', () => get('/healthz').repeat(500) + claimed('none')],
  ['a body byte by byte', () => head('/jobs/batch', 'Transfer-Encoding: chunked') + byteByByte(3000)],
];

const reset = ({ socket }: RawClient) => socket.resetAndDestroy();
const end = ({ socket }: RawClient) => socket.end();
const times = (count: number, request: () => string) => Array.from({ length: count }, request).join('');

/** How often it is sent, and behind what, and how its client hangs up. */
const WAYS: [string, (request: () => string) => string, (client: RawClient) => void][] = [
  ['alone, with a reset', (request) => request(), reset],
  ['twenty on a connection, with an end', (request) => times(20, request), end],
  ['behind a claim that waits, with a reset', (request) => claimed('first') + times(5, request), reset],
  ['behind an answer, with an end', (request) => get('/healthz') + request(), end],
];

/** An enqueue that waits under a key goes on without its client, until its job is finished. */
async function finishAndScrape(): Promise<string> {
  for (const queue of ['waited', 'broken']) await service.call('DELETE', `/queues/${queue}?force=true`);
  return scrape();
}

describe.each(REQUESTS)('%s leaves nothing held when its client hangs up', (_, request) => {
  test.each(WAYS)('%s', async (_, text, hangUp) => {
    const client = rawClient(url, text(request), { reads: hangUp === end });
    await isHeldOrAnswered(client);
    hangUp(client);
    await client.closed;
    await nothingIsHeld(finishAndScrape, SOON_MS);
  });
});
