import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { OPEN } from '../../src/access/access.ts';
import { createCaller, SCOPES } from '../../src/caller.ts';
import { createMemory, LEFT_WAIT_BYTES, WAITING_BYTES } from '../../src/memory.ts';
import { heldIn, nothingIsHeld } from '../support/ledger.ts';
import { expectProblem, moves } from '../support/moves.ts';
import { head, headOf, rawClient } from '../support/rawClient.ts';
import { type Service, startService } from '../support/service.ts';
import { until } from '../support/until.ts';

const MIB = 2 ** 20;
const KNOWN_MS = 100;

let service: Service;
let at: ReturnType<typeof moves>;
let url: string;
beforeEach(async () => {
  service = await startService({
    maxMemoryBytes: 3 * MIB,
    access: {
      ...OPEN,
      isOpen: () => false,
      // The caller `late` is known after a while only.
      identify({ token: id = 'anybody' }) {
        const caller = createCaller({ id, name: id }, { scopes: SCOPES, queues: ['*'] });
        return id === 'late' ? sleep(KNOWN_MS, caller) : caller;
      },
    },
  });
  at = moves(service);
  url = await service.listen();
});
afterEach(async () => {
  await nothingIsHeld(scrape);
  await service.stop();
});

const scrape = async () => (await service.call('GET', '/metrics')).text;
const heldBytes = () => service.engine.memory.shares().waiting.used;
const as = (authorization: string) => ({ authorization });

function produced(queue: string, more: string, payload = ''): string {
  const text = JSON.stringify({ queue, payload });
  return `${head('/jobs', `${more}\r\nContent-Length: ${text.length}`)}${text}`;
}

test('a body whose client hangs up before it is known who sends it holds nothing', async () => {
  for (const bytes of [100, MIB / 8]) {
    const client = rawClient(url, headOf('/jobs', bytes).replace('Host', 'Authorization: late\r\nHost'));
    await sleep(KNOWN_MS / 2);
    client.socket.resetAndDestroy();
    await client.closed;
  }
  await sleep(2 * KNOWN_MS);
});

describe('an enqueue that waits under an Idempotency-Key, whose client hangs up', () => {
  const keyed = (key: string, payload = '') =>
    produced('waited', `Prefer: wait=60\r\nIdempotency-Key: ${key}`, payload);

  test('keeps nothing of its connection and of its body, also for repeats', async () => {
    const clients = Array.from({ length: 5 }, (_, i) => rawClient(url, keyed(`k${i}`, 'x'.repeat(20_000))));
    await until(() => service.engine.waitingForJobs() === 5);
    clients.push(...clients.map((_, i) => rawClient(url, keyed(`k${i}`, 'x'.repeat(20_000)))));
    await until(() => heldBytes() >= 10 * WAITING_BYTES);
    for (const { socket } of clients) socket.resetAndDestroy();
    await until(() => heldBytes() === 5 * LEFT_WAIT_BYTES);
    await until(async () => !('dibs_held{kind="requests"}' in heldIn(await scrape())));
    expect(service.engine.memory.used()).toBe(5 * LEFT_WAIT_BYTES);
    await service.call('DELETE', '/queues/waited?force=true');
  });

  test('still ends with the finished job, for a repeat', async () => {
    await at.configure('waited', { retention_seconds: 100 });
    const client = rawClient(url, keyed('again'));
    const job = await at.claimOne('waited', { wait_seconds: 20 });
    client.socket.resetAndDestroy();
    await client.closed;
    const headers = { prefer: 'wait=60', 'idempotency-key': 'again' };
    const repeat = service.call('POST', '/jobs', { queue: 'waited', payload: '' }, headers);
    await at.settle('ack', job, { result: 'done' });
    const { status, body } = await repeat;
    expect({ status, id: body.id, state: body.state }).toEqual({
      status: 200,
      id: job.id,
      state: 'completed',
    });
  });
});

describe('a caller that takes all it can get leaves room for others:', () => {
  const claim = (queue: string) => ({ queues: [queue], wait_seconds: 60 });
  /** Sends requests until one is refused. */
  async function takeAll(send: (i: number) => ReturnType<Service['call']>): Promise<void> {
    const refused: number[] = [];
    for (let i = 0; refused.length === 0; i++) {
      void send(i).then(({ status }) => status === 503 && refused.push(i));
      await sleep(1);
    }
  }

  test('waiting claims and waits for jobs', async () => {
    const { id } = await at.enqueue({ queue: 'looked.at' });
    const looks = () => service.call('GET', `/jobs/${id}?wait_seconds=60`, undefined, as('greedy'));
    await takeAll((i) =>
      i % 2 ? service.call('POST', '/jobs/claim', claim('none'), as('greedy')) : looks(),
    );
    expectProblem(await looks(), 503, 'overloaded');
    const other = service.call('POST', '/jobs/claim', claim('mine'), as('other'));
    await at.enqueue({ queue: 'mine' });
    expect((await other).status).toBe(200);
    service.engine.stopWaiting();
  });

  test('waits that go on after a hang-up', async () => {
    const waits = (i: number) =>
      service.call(
        'POST',
        '/jobs',
        { queue: 'left' },
        { ...as('greedy'), prefer: 'wait=60', 'idempotency-key': `l${i}` },
      );
    await takeAll(waits);
    const other = service.call('POST', '/jobs/claim', claim('mine'), as('other'));
    await at.enqueue({ queue: 'mine' });
    expect((await other).status).toBe(200);
    service.engine.stopWaiting();
  });

  test('large bodies', async () => {
    const bodies = Array.from({ length: 20 }, () =>
      rawClient(url, headOf('/jobs', 100_000).replace('Host', 'Authorization: greedy\r\nHost')),
    );
    await Promise.race(bodies.map((client) => client.status()));
    expect((await at.ok('POST', '/jobs', { payload: 'x'.repeat(50_000) }, as('other'))).id).toBeDefined();
    for (const { socket } of bodies) socket.destroy();
  });
});

describe('the memory of a caller', () => {
  const HALF = 50;
  const memory = () => createMemory(2 * HALF);

  test('is three quarters of what the others have left, however many requests it has', () => {
    const budget = memory();
    const [first, second, other] = [budget.hold('a'), budget.hold('a'), budget.hold('b')] as const;
    first.take(30);
    expect(() => second.take(8)).toThrow('as one caller may');
    second.take(7);
    other.take(9);
    expect(() => budget.hold('b').take(1)).toThrow('as one caller may');
    expect(() => budget.hold('c').take(5)).toThrow('as its memory allows');
    budget.hold('c').take(4);
  });

  test('is all that is free, for its first request', () => {
    const budget = memory();
    const only = budget.hold('a');
    only.take(40);
    only.take(10);
    only.release();
    expect([budget.used(), budget.callers()]).toEqual([0, 0]);
  });

  test('is given back in parts, and once', () => {
    const budget = memory();
    const hold = budget.hold('a');
    hold.take(20);
    hold.giveBack(5);
    expect(budget.used()).toBe(15);
    hold.release();
    hold.release();
    hold.add(5);
    expect([budget.used(), budget.callers()]).toEqual([0, 0]);
  });
});
