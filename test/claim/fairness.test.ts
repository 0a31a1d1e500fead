import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openClient } from '../support/database.ts';
import { eventually, expectProblem, moves } from '../support/moves.ts';
import { type Service, startService } from '../support/service.ts';
import { databaseOf } from '../support/severalDatabases.ts';
import { until } from '../support/until.ts';

// biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every kind.
type Json = any;

let service: Service;
let other: Service;
let at: ReturnType<typeof moves>;
let elsewhere: ReturnType<typeof moves>;
let queue: string;
beforeAll(async () => {
  service = await startService();
  other = await startService({ databaseUrl: service.databaseUrl });
  at = moves(service);
  elsewhere = moves(other);
});
beforeEach(() => {
  queue = at.newQueue();
});
afterAll(async () => {
  await other.stop();
  await service.stop();
});

/** Enqueues a job for each letter, which is its key. A dot has no key. The payload is the letter and its number: `A1`. */
async function enqueue(keys: string, more: object = {}): Promise<Json[]> {
  const counts = new Map<string, number>();
  const jobs = [...keys].map((key) => {
    const n = (counts.get(key) ?? 0) + 1;
    counts.set(key, n);
    return { queue, payload: `${key}${n}`, ...(key === '.' ? {} : { fairness_key: key }), ...more };
  });
  return at.enqueueAll(jobs);
}

const payloads = (jobs: Json[]): string => jobs.map((job) => job.payload).join(' ');
const claim = async (limit: number) => payloads(await at.claim(queue, { limit }));

/** The payloads that claims of `limit` jobs get, one claim after the other, until a claim gets none. */
async function drain(limit: number): Promise<string> {
  const claims: string[] = [];
  for (;;) {
    const claimed = await claim(limit);
    if (!claimed) return claims.join(' | ');
    claims.push(claimed);
  }
}

describe('within one priority, keys alternate', () => {
  test('job by job: A A A A B B is claimed as A B A B A A', async () => {
    await enqueue('AAAABB');
    expect(await drain(1)).toBe('A1 | B1 | A2 | B2 | A3 | A4');
  });

  test('within one claim, too', async () => {
    await enqueue('AAAABB');
    expect(await claim(6)).toBe('A1 B1 A2 B2 A3 A4');
    await enqueue('AAAABB');
    expect(await claim(100)).toBe('B1 A1 B2 A2 A3 A4');
  });

  test('the next claim goes on behind the key that was served last', async () => {
    await enqueue('AAABBBCCC');
    expect(await drain(2)).toBe('A1 B1 | C1 A2 | B2 C2 | A3 B3 | C3');
    await enqueue('AAAABBBBCCCC');
    expect(await drain(5)).toBe('A1 B1 C1 A2 B2 | C2 A3 B3 C3 A4 | B4 C4');
  });

  test('a key with few jobs leaves its slots to the other keys, which alternate', async () => {
    await enqueue('AAAAAAAAAABCCCCCCCCCC');
    expect(await claim(10)).toBe('A1 B1 C1 A2 C2 A3 C3 A4 C4 A5');
  });

  test('a key that comes later alternates with the others at once', async () => {
    await enqueue('AAAACCCC');
    expect(await claim(3)).toBe('A1 C1 A2');
    await enqueue('BBBB');
    expect(await claim(4)).toBe('B1 C2 A3 B2');
  });

  test('the jobs without a key count as one more key', async () => {
    await enqueue('AA....BB');
    expect(await drain(1)).toBe('A1 | B1 | .1 | A2 | B2 | .2 | .3 | .4');
    await enqueue('AAA...BBB');
    expect(await drain(4)).toBe('A1 B1 .1 A2 | B2 .2 A3 B3 | .3');
  });

  test('a key with thousands of jobs does not hold up a key with ten', async () => {
    const large = Array.from({ length: 1000 }, () => ({ queue, fairness_key: 'large' }));
    for (let i = 0; i < 3; i++) await at.enqueueAll(large);
    await enqueue('ssssssssss');
    let claimed = 0;
    let small = 0;
    while (small < 10) {
      const jobs = await at.claim(queue, { limit: 7 });
      claimed += jobs.length;
      small += jobs.filter((job) => job.fairness_key === 's').length;
    }
    expect(claimed).toBeLessThanOrEqual(21);
  });

  test('keys of any characters are kept apart, and always have the same order', async () => {
    const keys = ['a', 'A', ' ', 'ä', '{', '"', '\\', ',', 'NULL', 'a b', '{}', '雪', '\u{1f600}'];
    await at.enqueueAll(
      [...keys, ...keys].map((fairness_key) => ({ queue, fairness_key, payload: fairness_key })),
    );
    const first = [];
    for (let i = 0; i < keys.length; i++) first.push((await at.claimOne(queue)).fairness_key);
    expect(first.toSorted()).toEqual(keys.toSorted());
    expect((await at.claim(queue, { limit: 100 })).map((job) => job.fairness_key)).toEqual(first);
  });
});

describe('a higher priority goes first, whatever the keys are', () => {
  test('with all of its jobs', async () => {
    await enqueue('AAB', { priority: 0 });
    await enqueue('CCC', { priority: 5 });
    await enqueue('..', { priority: -3 });
    await enqueue('A', { priority: 5 });
    expect(await claim(100)).toBe('A1 C1 C2 C3 A1 B1 A2 .1 .2');
  });

  test('and the keys of the lower priority share the rest of the claim', async () => {
    await enqueue('HHHHHH', { priority: 1 });
    await enqueue('AAAABBBB');
    expect(await claim(10)).toBe('H1 H2 H3 H4 H5 H6 A1 B1 A2 B2');
  });

  test('and each priority remembers the key that it served last', async () => {
    await enqueue('AABB');
    expect(await claim(1)).toBe('A1');
    await enqueue('ABC', { priority: 1 });
    expect(await drain(1)).toBe('A1 | B1 | C1 | B1 | A2 | B2');
  });
});

describe('with many consumers', () => {
  test('keys alternate over all claims of one statement', async () => {
    await enqueue('AAAAAAAABB');
    const claimed = await Promise.all([1, 3, 1, 1, 2].map((limit) => claim(limit)));
    expect(claimed).toEqual(['A1', 'B1 A2 B2', 'A3', 'A4', 'A5 A6']);
  });

  test('no claim is answered empty while a job is free, whatever other claims have locked', async () => {
    const jobs = await enqueue('AAABC');
    const held = await openClient(await databaseOf(service.databaseUrl, queue));
    await held.query('begin');
    const ids = jobs.filter((job) => job.fairness_key !== 'C').map((job) => job.id);
    await held.query('select from dibs.jobs where id = any ($1::uuid[]) for update', [ids]);
    expect(await claim(1)).toBe('C1');
    expect(await claim(1)).toBe('');
    await held.query('rollback');
    await held.end();
    expect(await drain(2)).toBe('A1 B1 | A2 A3');
  });

  test('nor is one of several claims that share a statement', async () => {
    const jobs = await enqueue('AAAAAAB');
    const held = await openClient(await databaseOf(service.databaseUrl, queue));
    await held.query('begin');
    await held.query('select from dibs.jobs where id = $1 for update', [jobs.at(-1).id]);
    // Together they count on A's jobs and on B's job, which is locked.
    const claimed = await Promise.all([claim(1), claim(1), claim(2), claim(1)]);
    expect(claimed).toEqual(['A1', 'A2', 'A3 A4', 'A5']);
    await held.query('rollback');
    await held.end();
  });

  test('jobs with keys wake claims that wait, also on another replica', async () => {
    const waiting = [at, elsewhere].map((side) => side.claimOne(queue, { wait_seconds: 20 }));
    await enqueue('A');
    await until(async () => (await at.ok('GET', `/queues/${queue}`)).counts.leased === 1);
    await enqueue('A');
    expect((await Promise.all(waiting)).map((job) => job.fairness_key)).toEqual(['A', 'A']);
    const again = elsewhere.claimOne(queue, { wait_seconds: 20 });
    await enqueue('B');
    expect((await again).fairness_key).toBe('B');
  });

  test('jobs of different keys that come together serve all claims that wait', async () => {
    const waiting = Array.from({ length: 40 }, () => at.claimOne(queue, { wait_seconds: 20 }));
    await enqueue(`${'A'.repeat(25)}BBCCCCCCCCCCDE.`);
    const ids = (await Promise.all(waiting)).map((job) => job.id);
    expect(new Set(ids).size).toBe(40);
  });

  test('keys alternate from the first job with a key on', async () => {
    expect(await at.claim(queue)).toEqual([]);
    await enqueue('....');
    expect(await claim(2)).toBe('.1 .2');
    await enqueue('AA');
    expect(await drain(1)).toBe('A1 | .3 | A2 | .4');
  });

  test('a replica that knows the queue as one without keys finds jobs with keys within a second', async () => {
    await enqueue('..');
    await elsewhere.claimOne(queue);
    await enqueue('A');
    const jobs: Json[] = [];
    await eventually(async () => {
      jobs.push(...(await elsewhere.claim(queue)));
      expect(jobs.map((job) => job.payload)).toContain('A1');
    });
  });
});

describe('jobs with keys are jobs like others', () => {
  test('a nacked, a released, a delayed and a redriven job go behind the other jobs of their key', async () => {
    await enqueue('AAAA');
    const [first, second, third] = await at.claim(queue, { limit: 3 });
    await at.settle('nack', first, { delay_seconds: 0 });
    await at.settle('release', second);
    await at.settle('nack', third, { retry: false });
    await at.ok('POST', `/queues/${queue}/redrive`);
    const [later] = await enqueue('A', { delay_seconds: 0.1, payload: 'later' });
    await at.reaches(later.id, 'ready');
    await enqueue('BBB');
    expect(await drain(1)).toBe('B1 | A4 | B2 | A1 | B3 | A2 | A3 | later');
  });

  test('a job whose lease ran out comes back', async () => {
    await enqueue('AB');
    const job = await at.claimOne(queue, { lease_seconds: 0.1 });
    await at.reaches(job.id, 'ready');
    expect(await drain(1)).toBe('B1 | A1');
  });

  test('they are counted, listed and purged, and have an oldest age', async () => {
    await enqueue('AABBB..', { priority: 3 });
    await enqueue('AC', { priority: -3 });
    const found = await at.ok('GET', `/queues/${queue}`);
    expect(found.counts.ready).toBe(9);
    expect(found.oldest_ready_age_seconds).toBeGreaterThan(0);
    const listed = await at.ok('GET', `/jobs?queue=${queue}&state=ready`);
    expect(listed.jobs.map((job: Json) => job.fairness_key).toSorted()).toEqual(
      ['A', 'A', 'A', 'B', 'B', 'B', 'C', null, null].toSorted(),
    );
    expect((await at.ok('POST', `/queues/${queue}/purge`, { states: ['ready'] })).count).toBe(9);
    expect((await at.ok('GET', `/queues/${queue}`)).counts.ready).toBe(0);
    expect(await claim(10)).toBe('');
  });

  test('the oldest age is that of the job that waits longest, whatever its key is', async () => {
    const [oldest] = await enqueue('M');
    await at.ok('GET', `/jobs/${oldest.id}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
    await enqueue('AZ.');
    const { oldest_ready_age_seconds: age } = await at.ok('GET', `/queues/${queue}`);
    const { jobs } = await at.ok('GET', `/jobs?queue=${queue}&order=oldest`);
    const behind = (Date.parse(jobs[1].run_at) - Date.parse(jobs[0].run_at)) / 1000;
    expect(age).toBeGreaterThan(behind);
  });

  test('a purge deletes thousands of them, and no job of another queue', async () => {
    const other = at.newQueue();
    await at.enqueue({ queue: other, fairness_key: 'A' });
    const jobs = Array.from({ length: 1000 }, (_, i) => ({
      queue,
      fairness_key: `k${i % 7}`,
      priority: i % 3,
    }));
    for (let i = 0; i < 3; i++) await at.enqueueAll(jobs);
    expect((await at.ok('POST', `/queues/${queue}/purge`, { states: ['ready'] })).count).toBe(3000);
    expect(await at.claim(other)).toHaveLength(1);
  });

  test('no claim gets them while the queue is paused, and a resume wakes the claims that wait', async () => {
    await at.ok('POST', `/queues/${queue}/pause`);
    await enqueue('AB');
    expect(await claim(10)).toBe('');
    const waiting = at.claim(queue, { limit: 10, wait_seconds: 20 });
    await at.ok('POST', `/queues/${queue}/resume`);
    expect(payloads(await waiting)).toBe('A1 B1');
  });

  test('a claim stops before 16 MiB of payload, and the next claim goes on with the next key', async () => {
    const payload = 'x'.repeat(1_000_000);
    const keys = [...'A'.repeat(20), ...'B'.repeat(20)];
    for (let i = 0; i < 40; i += 10)
      await at.enqueueAll(keys.slice(i, i + 10).map((fairness_key) => ({ queue, payload, fairness_key })));
    const claimed = (await at.claim(queue, { limit: 40 })).map((job) => job.fairness_key).join('');
    expect(claimed.length).toBeLessThan(20);
    const next = await at.claimOne(queue);
    expect(claimed + next.fairness_key).toBe('AB'.repeat(20).slice(0, claimed.length + 1));
  });

  test('explain counts the jobs that claims take before a job, as the keys take turns', async () => {
    let left = [...(await enqueue('AAAABB.DD')), ...(await enqueue('C', { priority: 1 }))];
    while (left.length > 0) {
      const ahead = new Map<number, string>();
      for (const { id } of left) {
        const explanation = await at.ok('GET', `/jobs/${id}/explain`);
        expect(explanation).toMatchObject({ code: 'next_in_line' });
        ahead.set(explanation.ahead, id);
      }
      expect([...ahead.keys()].sort((a, b) => a - b)).toEqual(left.map((_, i) => i));
      const { id } = await at.claimOne(queue);
      expect(ahead.get(0)).toBe(id);
      left = left.filter((job) => job.id !== id);
    }
  });

  test('the key has 1 to 256 characters without NUL, and every answer shows it', async () => {
    for (const fairness_key of ['', 'k'.repeat(257), 'a\u0000', null, 1])
      expectProblem(
        await service.call('POST', '/jobs', { queue, fairness_key }),
        400,
        'invalid_request',
        '/fairness_key',
      );
    const job = await at.enqueue({ queue, fairness_key: '雪'.repeat(256) });
    expect(job.fairness_key).toBe('雪'.repeat(256));
    expect((await at.get(job.id)).fairness_key).toBe(job.fairness_key);
    expect((await at.claimOne(queue)).fairness_key).toBe(job.fairness_key);
    expect((await at.enqueue({ queue })).fairness_key).toBeNull();
  });
});
