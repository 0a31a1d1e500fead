import { expect } from 'vitest';
import { promise } from '../promises.ts';
import type { Stage } from '../stage.ts';

const GROUP = 'Producing';
const needs = { needs: ['producer' as const] };

async function countOf(stage: Stage): Promise<number> {
  return (await stage.call('GET', `/jobs?queue=${stage.queue}&limit=1000`)).jobs.length;
}

promise(
  GROUP,
  'an enqueue whose answer is lost is repeated, and makes one job',
  async (stage) => {
    let lost = 0;
    stage.proxy.harm(() => (lost++ === 0 ? 'lose' : undefined));
    const { ids } = await stage.driver.enqueue(stage.proxy.url, [{ queue: stage.queue }]).seen('enqueued');
    expect(ids?.length).toBe(1);
    expect(await countOf(stage)).toBe(1);
    const [first, second] = stage.proxy.exchanges;
    expect(second?.idempotencyKey).toBe(first?.idempotencyKey);
  },
  needs,
);

promise(
  GROUP,
  'a batch whose answer is lost is repeated, and makes each job once',
  async (stage) => {
    let lost = 0;
    stage.proxy.harm(() => (lost++ < 2 ? 'lose' : undefined));
    const jobs = Array.from({ length: 5 }, (_, i) => ({ queue: stage.queue, payload: { i } }));
    const { ids } = await stage.driver.enqueue(stage.proxy.url, jobs).seen('enqueued');
    expect(ids?.length).toBe(5);
    expect(await countOf(stage)).toBe(5);
  },
  needs,
);

promise(
  GROUP,
  'more jobs than one request takes go in several, each with a key of its own; for none, nothing is sent',
  async (stage) => {
    const none = await stage.driver.enqueue(stage.proxy.url, []).seen('enqueued');
    expect(none.ids).toEqual([]);
    expect(stage.proxy.exchanges).toEqual([]);

    let lost = 0;
    stage.proxy.harm(() => (lost++ === 1 ? 'lose' : undefined));
    const jobs = Array.from({ length: 1001 }, (_, i) => ({ queue: stage.queue, payload: i }));
    const { ids } = await stage.driver.enqueue(stage.proxy.url, jobs).seen('enqueued');
    const path = `/jobs?queue=${stage.queue}&order=oldest&include=payload&limit=1000`;
    const first = await stage.call('GET', path);
    const last = await stage.call('GET', `${path}&cursor=${first.next_cursor}`);
    const made: { id: string; payload: number }[] = [...first.jobs, ...last.jobs];
    expect(made).toHaveLength(1001);
    const payloads = new Map(made.map(({ id, payload }) => [id, payload]));
    expect(ids?.map((id) => payloads.get(id))).toEqual(jobs.map(({ payload }) => payload));

    const [one, two, repeated] = stage.proxy.exchanges.map(({ idempotencyKey }) => idempotencyKey);
    expect(stage.proxy.exchanges).toHaveLength(3);
    expect(two).not.toBe(one);
    expect(repeated).toBe(two);
  },
  needs,
);

promise(
  GROUP,
  'an enqueue is repeated at 503 and 429, each with its Retry-After',
  async (stage) => {
    const answers = [503, 429];
    stage.proxy.harm(() => {
      const status = answers.shift();
      return status === undefined ? undefined : { status, headers: { 'retry-after': '1' } };
    });
    await stage.driver.enqueue(stage.proxy.url, [{ queue: stage.queue }]).seen('enqueued');
    expect(await countOf(stage)).toBe(1);
    const times = stage.proxy.exchanges.map(({ at }) => at);
    expect((times[1] ?? 0) - (times[0] ?? 0)).toBeGreaterThanOrEqual(990);
  },
  needs,
);

promise(
  GROUP,
  'each enqueue has an Idempotency-Key of its own',
  async (stage) => {
    for (let i = 0; i < 2; i++)
      await stage.driver.enqueue(stage.proxy.url, [{ queue: stage.queue }]).seen('enqueued');
    const keys = stage.proxy.exchanges.map(({ idempotencyKey }) => idempotencyKey);
    expect(keys.every((key) => key !== undefined)).toBe(true);
    expect(new Set(keys).size).toBe(2);
  },
  needs,
);

promise(
  GROUP,
  'an enqueue that is refused fails with its code, and is not repeated',
  async (stage) => {
    const sent = stage.driver.enqueue(stage.proxy.url, [{ queue: stage.queue, priority: 1000 }]);
    expect((await sent.seen('failed')).code).toBe('invalid_request');
    expect(stage.proxy.exchanges.length).toBe(1);
  },
  needs,
);
