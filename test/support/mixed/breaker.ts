import { setTimeout as sleep } from 'node:timers/promises';
import { head, rawClient } from '../rawClient.ts';
import { QUEUE_NAMES } from './queues.ts';
import type { Random } from './random.ts';
import type { World } from './world.ts';

const LARGE = 200_000;

function post(path: string, body: object, header = 'X-Nothing: 0'): string {
  const text = JSON.stringify(body);
  return `${head(path, `${header}\r\nContent-Length: ${text.length}`)}${text}`;
}
const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`;
/** No job comes into this queue, so none is lost with these clients. */
const claim = (more: object) =>
  post('/jobs/claim', { queues: ['nobody.enqueues'], wait_seconds: 20, ...more });

function request({ record }: World, random: Random): string {
  const { id = 'none' } = random.oneOf([...record.lives.values()].slice(-50)) ?? {};
  return random.oneOf([
    () => claim({}),
    () => claim({ claim_id: String(random.integer(1, 3)) }),
    () => get(`/jobs/${id}?wait_seconds=20`),
    () => get(`/jobs?include=payload&queue=${random.oneOf(QUEUE_NAMES)}`),
    () => post('/jobs/settle', { claim: { queues: ['nobody.enqueues'], wait_seconds: 20 } }),
    () => post('/jobs/batch', { jobs: [{ payload: 'x'.repeat(LARGE), unknown: 1 }] }),
    () => head('/jobs', `Content-Length: ${LARGE}`) + ' '.repeat(LARGE / 2),
  ])();
}

/** A client that sends several requests on a connection without waiting for answers, and hangs up at any moment. */
export async function breaker(world: World, random: Random): Promise<void> {
  while (!world.stopping()) {
    const requests = Array.from({ length: random.integer(1, 8) }, () => request(world, random));
    const { socket, closed } = rawClient(world.cluster.url(random), requests.join(''));
    await Promise.race([closed, sleep(random.between(1, 800))]);
    if (random.chance(0.5)) socket.end();
    else socket.resetAndDestroy();
    await Promise.race([closed, sleep(1000)]);
    socket.destroy();
    world.record.count('connections broken off');
  }
}
