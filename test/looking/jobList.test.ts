import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { expectProblem, moves } from '../support/moves.ts';
import { type Service, startService } from '../support/service.ts';
import { onAll } from '../support/severalDatabases.ts';

// biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every kind.
type Json = any;

let service: Service;
let at: ReturnType<typeof moves>;
let queue: string;
beforeAll(async () => {
  service = await startService();
  at = moves(service);
});
beforeEach(() => {
  queue = at.newQueue();
});
afterAll(() => service.stop());

const list = (query: object) => {
  const search = new URLSearchParams(query as Record<string, string>);
  return service.call('GET', `/jobs?${search}`);
};
const enqueue = (count: number, more: object = {}): Promise<Json[]> =>
  at.enqueueAll(Array.from({ length: count }, (_, payload) => ({ queue, payload, ...more })));
const ids = (jobs: Json[]) => jobs.map((job) => job.id);

/** All pages of a list. `between` runs after each page but the last. */
async function pages(query: object, between: (page: number) => Promise<unknown> = async () => undefined) {
  const found: Json[][] = [];
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const { body, status } = await list(cursor === undefined ? query : { ...query, cursor });
    expect(status).toBe(200);
    found.push(body.jobs);
    cursor = body.next_cursor;
    if (cursor !== null) await between(found.length);
  }
  return found;
}

describe('GET /jobs', () => {
  test('lists jobs newest first, without payloads', async () => {
    const jobs = await enqueue(3);
    const { body } = await list({ queue });
    expect(body).toEqual({ jobs: jobs.toReversed(), next_cursor: null });
  });

  test('shows payloads with include=payload', async () => {
    await enqueue(2);
    const { body } = await list({ queue, include: 'payload', order: 'oldest' });
    expect(body.jobs.map((job: Json) => job.payload)).toEqual([0, 1]);
  });

  test('include=payload_preview shows the beginning of each payload as it was sent, and large ones cut no page', async () => {
    const [job] = await enqueue(20);
    await onAll(
      service.databaseUrl,
      `update dibs.jobs set payload_bytes = 1000012, payload = ('{"n": 1.0,"b":"' || repeat('é', 500000) || '"}')::json
       where id = any ($1) and id <> $2`,
      [ids((await list({ queue })).body.jobs), (job as Json).id],
    );
    const { body } = await list({ queue, include: 'payload_preview', order: 'oldest' });
    const previews = body.jobs.map((one: Json) => one.payload_preview);
    expect(previews[0]).toBe('0');
    expect(previews.slice(1)).toEqual(Array(19).fill(`{"n": 1.0,"b":"${'é'.repeat(185)}`));
    expect(body.jobs[0]).not.toHaveProperty('payload');
  });

  test('a page has up to `limit` jobs, 100 by default, and the last page has no cursor', async () => {
    const jobs = await enqueue(205);
    const sizes = async (query: object) => (await pages({ queue, ...query })).map((page) => page.length);
    expect(await sizes({})).toEqual([100, 100, 5]);
    expect(await sizes({ limit: 1000 })).toEqual([205]);
    expect((await sizes({ limit: 41 })).filter((size) => size > 0)).toEqual([41, 41, 41, 41, 41]);
    const forwards = (await pages({ queue, order: 'oldest', limit: 7 })).flat();
    expect(ids(forwards)).toEqual(ids(jobs));
    const backwards = (await pages({ queue, order: 'newest', limit: 7 })).flat();
    expect(ids(backwards)).toEqual(ids(jobs).reverse());
  });

  test('a page with payloads has about 16 MiB of them at most, whatever its limit, and its cursor goes on', async () => {
    const jobs = await enqueue(20);
    await onAll(
      service.databaseUrl,
      `update dibs.jobs set payload_bytes = 1000002, payload = ('"' || repeat('x', 1000000) || '"')::json where id = any ($1)`,
      [ids(jobs)],
    );
    const read: string[][] = [];
    for (let cursor = ''; read.length < 3; ) {
      const url = `/jobs?queue=${queue}&include=payload&order=oldest&limit=1000${cursor}`;
      const text = (await service.app.inject({ url })).body;
      read.push([...text.matchAll(/"id":"([^"]*)"/g)].map((match) => match[1] as string));
      const next = /"next_cursor":"([^"]*)"\}$/.exec(text)?.[1];
      if (!next) break;
      cursor = `&cursor=${next}`;
    }
    expect(read).toHaveLength(2);
    expect(read[0]?.length).toBeLessThanOrEqual(17);
    expect(read.flat()).toEqual(ids(jobs));
  });

  test('filters by state', async () => {
    await at.configure(queue, { retention_seconds: 1000 });
    await enqueue(4);
    const [leased, dead, done] = await at.claim(queue, { limit: 3 });
    await at.settle('nack', dead, { retry: false });
    await at.settle('ack', done);
    const [scheduled, cancelled] = await enqueue(2, { delay_seconds: 1000 });
    await at.ok('DELETE', `/jobs/${cancelled.id}`);
    const inState = async (state: string) => ids((await list({ queue, state })).body.jobs);
    expect(await inState('leased')).toEqual([leased.id]);
    expect(await inState('dead')).toEqual([dead.id]);
    expect(await inState('completed')).toEqual([done.id]);
    expect(await inState('scheduled')).toEqual([scheduled.id]);
    expect(await inState('cancelled')).toEqual([cancelled.id]);
    expect(await inState('ready')).toHaveLength(1);
    expect(await inState('blocked')).toEqual([]);
    expect((await list({ queue })).body.jobs).toHaveLength(6);
  });

  test('is empty for a queue that does not exist, and does not create it', async () => {
    expect((await list({ queue })).body).toEqual({ jobs: [], next_cursor: null });
    expectProblem(await service.call('GET', `/queues/${queue}`), 404, 'queue_not_found');
  });

  test('lists all queues together, in order', async () => {
    const other = await startService();
    const own = moves(other);
    const jobs = await own.enqueueAll(Array.from({ length: 50 }, (_, i) => ({ queue: `q${i % 7}` })));
    const found: string[] = [];
    for (let cursor = ''; ; ) {
      const { body } = await other.call('GET', `/jobs?limit=9${cursor}`);
      found.push(...ids(body.jobs));
      if (body.next_cursor === null) break;
      cursor = `&cursor=${body.next_cursor}`;
    }
    expect(found).toEqual(ids(jobs).sort().reverse());
    const ready = (await other.call('GET', '/jobs?state=ready&order=oldest&limit=50')).body.jobs;
    expect(ids(ready)).toEqual(ids(jobs).sort());
    await other.stop();
  });
});

describe('pages stay correct', () => {
  test('while jobs are enqueued: no job twice, no job left out', async () => {
    const before = await enqueue(60);
    const seen = (await pages({ queue, limit: 10 }, () => enqueue(15))).flat();
    expect(ids(seen)).toEqual(ids(before).reverse());
  });

  test('oldest first: jobs enqueued meanwhile stand at the end', async () => {
    const jobs = await enqueue(30);
    const more = async (page: number) => {
      if (page <= 3) jobs.push(...(await enqueue(5)));
    };
    expect(ids((await pages({ queue, limit: 10, order: 'oldest' }, more)).flat())).toEqual(ids(jobs));
  });

  test('while jobs are deleted: no other job is left out', async () => {
    const jobs = await enqueue(60);
    const gone: string[] = [];
    const settleSome = async () => {
      for (const job of await at.claim(queue, { limit: 4 })) {
        gone.push(job.id);
        await at.settle('ack', job);
      }
    };
    const seen = ids((await pages({ queue, limit: 10 }, settleSome)).flat());
    expect(new Set(seen).size).toBe(seen.length);
    const stayed = ids(jobs).filter((id) => !gone.includes(id));
    expect(seen).toEqual(expect.arrayContaining(stayed));
  });

  test('when the last job of a page is gone before the next page', async () => {
    const jobs = await enqueue(19);
    const between = () => at.ok('DELETE', `/jobs/${jobs[9].id}`);
    const found = (await pages({ queue, limit: 10 }, between)).map(ids);
    expect(found).toEqual([ids(jobs.slice(9)).reverse(), ids(jobs.slice(0, 9)).reverse()]);
  });
});

describe('a list refuses', () => {
  test('unknown names and values', async () => {
    for (const [query, field] of [
      ['state=open', '/state'],
      ['state=', '/state'],
      ['state=ready&state=dead', '/state'],
      ['order=random', '/order'],
      ['include=result', '/include'],
      ['limit=0', '/limit'],
      ['limit=1001', '/limit'],
      ['limit=1.5', '/limit'],
      ['limit=ten', '/limit'],
      ['limit=', '/limit'],
      ['limit=1&limit=2', '/limit'],
      ['limit=1e999', '/limit'],
      ['queue=a%20b', '/queue'],
      ['queue=', '/queue'],
      ['queue=a%00', '/queue'],
      ['queue=%ZZ', '/queue'],
      ['colour=red', '/colour'],
      ['__proto__=1', '/__proto__'],
      ['constructor=1', '/constructor'],
    ]) {
      const answer = await service.call('GET', `/jobs?${query}`);
      expectProblem(answer, 400, 'invalid_request', field);
      expect(answer.body.errors[0].in).toBe('query');
    }
  });

  test('cursors of other lists, and forged ones', async () => {
    await enqueue(5);
    const { next_cursor: cursor } = (await list({ queue, limit: 2 })).body;
    expect((await list({ queue, limit: 3, include: 'payload', cursor })).body.jobs).toHaveLength(3);
    const bytes = Buffer.from(cursor, 'base64url').toString();
    const forge = (last: string) => Buffer.from(bytes.replace(/ .*/s, ` ${last}`)).toString('base64url');
    for (const query of [
      { cursor },
      { queue: 'other', cursor },
      { queue, state: 'ready', cursor },
      { queue, order: 'oldest', cursor },
      { queue, cursor: '' },
      { queue, cursor: 'x' },
      { queue, cursor: '\u0000' },
      { queue, cursor: forge('x') },
      { queue, cursor: forge('\u0000') },
      { queue, cursor: 'A'.repeat(5000) },
    ])
      expectProblem(await list(query), 400, 'invalid_request', '/cursor');
  });
});
