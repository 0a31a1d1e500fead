import { setTimeout as sleep } from 'node:timers/promises';
import type { Spec } from '../life.ts';
import type { Answer } from './calls.ts';
import type { Random } from './random.ts';
import { someSpecs } from './specs.ts';
import type { World } from './world.ts';

const GIVE_UP_MS = 60_000;
let keys = 0;

/**
 * Sends a request until it is answered. Undefined for a refusal after a lost answer: the lost request may have been
 * carried out, or may still be.
 */
export async function sendRepeatedly({ cluster, record }: World, random: Random, path: string, body: object) {
  const key = `request ${++keys}`;
  const headers = { 'idempotency-key': key };
  const deadline = performance.now() + GIVE_UP_MS;
  for (let lost = false; performance.now() < deadline; lost = true) {
    const abortAfterMs = random.chance(0.08) ? random.integer(1, 15) : undefined;
    const answer = await cluster.call(random, 'POST', path, body, { abortAfterMs, expected: [429], headers });
    if (answer && answer.status < 300 && random.chance(0.05)) await again(answer);
    if (answer) return answer.status < 300 || !lost ? answer : undefined;
    await sleep(random.between(10, 100));
  }
  throw new Error(`${path} with ${key} was not answered within ${GIVE_UP_MS} ms`);

  async function again(first: Answer): Promise<void> {
    await sleep(random.between(0, 300));
    const second = await cluster.call(random, 'POST', path, body, { headers });
    if (second && (second.text !== first.text || second.status !== first.status))
      record.problems.push(
        `${path} was repeated with ${key}, and got another answer: ${first.text}; ${second.text}`,
      );
  }
}

/** Sends a request once. Sometimes it waits for the end of the job. */
async function sendOnce({ cluster, record }: World, random: Random, path: string, body: object) {
  const waits = path === '/jobs' && random.chance(0.3);
  const headers = waits ? { prefer: `wait=${random.integer(1, 2)}` } : undefined;
  const answer = await cluster.call(random, 'POST', path, body, { expected: [429], headers });
  if (waits && answer?.status === 200 && answer.body.finished_at === null && !answer.body.deduplicated)
    record.problems.push(`${path} with ${headers?.prefer} was answered ${answer.text}`);
  return answer;
}

/** Enqueues one job or a batch: with an Idempotency-Key until it is answered, or once without a key. */
async function enqueue(world: World, random: Random): Promise<void> {
  const { record } = world;
  const specs = someSpecs(random, random.oneOf([1, 1, 2, 8, 25]));
  const single = specs.length === 1 && random.chance(0.8);
  const path = single ? '/jobs' : '/jobs/batch';
  const body = single ? (specs[0] as Spec) : { jobs: specs };
  const intents = record.wanted(specs);
  const answer = random.chance(0.5)
    ? await sendRepeatedly(world, random, path, body)
    : await sendOnce(world, random, path, body);
  if (answer)
    record.answered(intents, answer.status < 300 ? [answer.body.jobs ?? answer.body].flat() : 'refused');
}

export async function producer(world: World, random: Random): Promise<void> {
  while (!world.stopping()) {
    await enqueue(world, random);
    await sleep(random.between(20, 250));
  }
}
