import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { until } from '../../../test/support/until.ts';
import { promise } from '../promises.ts';
import { claimIn, extendedIn, settledIn, waits } from '../proxy.ts';

const GROUP = 'Claiming';

promise(GROUP, 'a job is claimed, worked on and acked', async (stage) => {
  const id = await stage.enqueue();
  const worker = stage.start();
  await worker.seen('finished', id);
  expect(await stage.reaches(id, 'completed')).toMatchObject({ attempt: 1, deliveries: 1 });
});

promise(GROUP, 'a job that comes while a claim waits is begun at once', async (stage) => {
  const worker = stage.start({ wait_seconds: 60 });
  await stage.request(waits);
  const id = await stage.enqueue();
  await worker.seen('started', id);
  await stage.reaches(id, 'completed', 30_000);
});

promise(GROUP, 'no more jobs run at once than its concurrency', async (stage) => {
  const ids = await stage.enqueueAll(Array.from({ length: 9 }, () => ({ ms: 100 })));
  const worker = stage.start({ concurrency: 3 });
  await stage.reachAll(ids, 'completed');
  let most = 0;
  let running = 0;
  for (const { event } of worker.events) {
    running += event === 'started' ? 1 : event === 'finished' ? -1 : 0;
    most = Math.max(most, running);
  }
  expect(most).toBeLessThanOrEqual(3);
  expect(most).toBeGreaterThan(1);
});

promise(GROUP, 'one claim asks for all free places', async (stage) => {
  stage.start({ concurrency: 7 });
  expect(claimIn(await stage.request(claimIn))).toMatchObject({ limit: 7, wait_seconds: 20 });
});

promise(GROUP, 'a claim asks for no more than the places that are free', async (stage) => {
  const [long] = await stage.enqueueAll([{ ms: 60_000 }]);
  const worker = stage.start({ concurrency: 4 });
  await worker.seen('started', long);
  const second = await stage.request((one) => one.path === '/jobs/claim' && one.body.limit !== 4);
  expect(second.body.limit).toBe(3);
});

promise(GROUP, 'never are two of its claims on their way at once', async (stage) => {
  const ids = await stage.enqueueAll(Array.from({ length: 12 }, (_, i) => ({ ms: 20 * (i % 4) })));
  stage.start({ concurrency: 4 });
  let most = 0;
  await until(async () => {
    most = Math.max(most, stage.proxy.exchanges.filter((one) => claimIn(one) && !one.isOver).length);
    return (await Promise.all(ids.map(stage.job))).every(({ state }) => state === 'completed');
  });
  expect(most).toBe(1);
});

promise(GROUP, 'a place that becomes free is filled while other jobs run on', async (stage) => {
  const [long, ...short] = await stage.enqueueAll([{ ms: 60_000 }, {}, {}, {}]);
  const worker = stage.start({ concurrency: 2 });
  await worker.seen('started', long);
  await stage.reachAll(short, 'completed');
  expect((await stage.job(long as string)).state).toBe('leased');
});

promise(GROUP, 'jobs are begun in the order of the queue', async (stage) => {
  const low = await stage.enqueue({}, { priority: -1 });
  const high = await stage.enqueue({}, { priority: 5 });
  const [first, second] = await stage.enqueueAll([{}, {}]);
  const worker = stage.start();
  await stage.reaches(low, 'completed');
  expect(worker.all('started').map(({ id }) => id)).toEqual([high, first, second, low]);
});

promise(GROUP, 'earlier queues of the list go first', async (stage) => {
  const other = `${stage.queue}.other`;
  await stage.configure({}, other);
  const later = await stage.enqueue();
  const { id: sooner } = await stage.call('POST', '/jobs', { queue: other, payload: {} });
  const worker = stage.start({ queues: [other, stage.queue] });
  await stage.reaches(later, 'completed');
  expect(worker.all('started').map(({ id }) => id)).toEqual([sooner, later]);
});

promise(GROUP, 'an idle worker sends nothing while its claim waits', async (stage) => {
  stage.start({ concurrency: 5 });
  await stage.request(waits);
  await sleep(1500);
  expect(stage.proxy.exchanges.length).toBe(1);
});

promise(GROUP, 'an idle worker claims again when its claim has waited', async (stage) => {
  const worker = stage.start({ wait_seconds: 0.3 });
  await until(() => stage.proxy.exchanges.filter(claimIn).length >= 3);
  const id = await stage.enqueue();
  await worker.seen('finished', id);
});

promise(GROUP, 'the job shows the name of its worker', async (stage) => {
  const id = await stage.enqueue({ ms: 60_000 });
  const worker = stage.start({ name: 'mailer-1' });
  await worker.seen('started', id);
  expect(await stage.job(id)).toMatchObject({ worker: 'mailer-1', state: 'leased' });
});

promise(GROUP, 'a worker without a name is called host:pid', async (stage) => {
  const id = await stage.enqueue({ ms: 60_000 });
  const worker = stage.start();
  await worker.seen('started', id);
  expect((await stage.job(id)).worker).toMatch(new RegExp(`^${hostname()}:[1-9]\\d*$`));
});

promise(GROUP, 'each claim has a claim_id of its own', async (stage) => {
  stage.start({ wait_seconds: 0.2 });
  await until(() => stage.proxy.exchanges.filter((one) => claimIn(one) && one.status).length >= 4);
  const ids = stage.proxy.exchanges.map((one) => claimIn(one)?.claim_id);
  expect(new Set(ids).size).toBe(ids.length);
  expect(ids.every((id) => typeof id === 'string' && id.length >= 16)).toBe(true);
});

promise(GROUP, 'a claim asks for payloads as text', async (stage) => {
  const id = await stage.enqueue();
  stage.start();
  await stage.reaches(id, 'completed');
  expect(stage.proxy.exchanges.flatMap((one) => claimIn(one)?.payload_format ?? [])).not.toContain('json');
  expect(claimIn(stage.proxy.exchanges[0] as never)?.payload_format).toBe('text');
});

promise(GROUP, 'the next job comes with the settlement: one request for each job', async (stage) => {
  const ids = await stage.enqueueAll(Array.from({ length: 8 }, () => ({})));
  const worker = stage.start();
  await worker.seen('finished', ids[7] as string);
  await stage.reachAll(ids, 'completed');
  const all = stage.proxy.exchanges.filter((one) => extendedIn(one).length === 0);
  // The first claim, eight settlements, and the claim that waits for more.
  expect(all.length).toBeLessThanOrEqual(10);
  expect(all.filter((one) => settledIn(one).length > 0 && claimIn(one)).length).toBeGreaterThanOrEqual(7);
});

promise(GROUP, 'a settlement never waits for a claim', async (stage) => {
  const id = await stage.enqueue();
  const worker = stage.start({ wait_seconds: 60 });
  await worker.seen('finished', id);
  await stage.reaches(id, 'completed', 20_000);
  const carried = stage.proxy.exchanges.filter((one) => settledIn(one).length > 0 && claimIn(one));
  for (const one of carried) expect(one.body.claim.wait_seconds ?? 0).toBe(0);
});

promise(GROUP, 'jobs that end together are settled together', async (stage) => {
  const ids = await stage.enqueueAll(Array.from({ length: 20 }, () => ({ ms: 1500 })));
  // While the first settlement is on its way, the others gather.
  stage.proxy.harm((one) => (settledIn(one).length > 0 ? { late: 700 } : undefined));
  const worker = stage.start({ concurrency: 20 });
  await worker.seen('finished', undefined, 20);
  await stage.reachAll(ids, 'completed');
  const requests = stage.proxy.exchanges.filter((one) => settledIn(one).length > 0).length;
  expect(requests).toBeLessThanOrEqual(10);
});

promise('The job', 'attempt, deliveries and headers reach the handler', async (stage) => {
  const id = await stage.enqueue({ fail: 'again' }, { headers: { tenant: 'acme' }, max_attempts: 2 });
  const worker = stage.start();
  await stage.reaches(id, 'dead');
  const seen = worker.all('started', id);
  expect(seen.map(({ attempt, deliveries }) => [attempt, deliveries])).toEqual([
    [1, 1],
    [2, 2],
  ]);
  expect(seen[0]?.headers).toMatchObject({ tenant: 'acme' });
});

promise('The job', 'the payload reaches the handler to the letter', async (stage) => {
  const payload = '{"b":1.0,"a":12345678901234567890,"note":"\\u00e9 \\"ü\\" \\u2028","b":1.00}';
  const made = await stage.call('POST', '/jobs', `{"queue":"${stage.queue}","payload":${payload}}`);
  const worker = stage.start();
  expect((await worker.seen('started', made.id)).payload_text).toBe(payload);
  await stage.reaches(made.id, 'completed');
});

promise('The job', 'a payload of null is a job like others', async (stage) => {
  const made = await stage.call('POST', '/jobs', { queue: stage.queue });
  stage.start();
  await stage.reaches(made.id, 'completed');
});

promise('The job', 'a payload of 500 KiB is read', async (stage) => {
  const id = await stage.enqueue({ note: 'x'.repeat(500_000) });
  stage.start();
  await stage.reaches(id, 'completed');
});

promise(
  'The job',
  'a payload that cannot be decoded is nacked, and the jobs beside it are worked on',
  async (stage) => {
    const [good, , alsoGood] = await stage.enqueueAll([{}, { undecodable: true }, {}]);
    const bad = (await stage.call('GET', `/jobs?queue=${stage.queue}&order=oldest`)).jobs[1].id;
    const worker = stage.start({ concurrency: 3 });
    await stage.reachAll([good as string, alsoGood as string], 'completed');
    const dead = await stage.reaches(bad, 'dead');
    expect(dead.last_error).toContain('decode');
    expect(worker.all('started', bad)).toEqual([]);
  },
  { needs: ['decode'] },
);

const OUTCOME = 'Outcomes';

promise(OUTCOME, 'what the handler returns is the result of the job', async (stage) => {
  const id = await stage.enqueue({ result: { sum: 42, text: 'é' } });
  stage.start();
  expect((await stage.reaches(id, 'completed')).result).toEqual({ sum: 42, text: 'é' });
});

promise(OUTCOME, 'a handler that fails is nacked with what it says', async (stage) => {
  const id = await stage.enqueue({ fail: 'no such customer' }, { max_attempts: 1 });
  stage.start();
  expect((await stage.reaches(id, 'dead')).last_error).toContain('no such customer');
});

promise(OUTCOME, 'a job that failed is tried again, until it is out of attempts', async (stage) => {
  const id = await stage.enqueue({ fail: 'never works' }, { max_attempts: 3 });
  stage.start();
  await stage.reaches(id, 'dead');
  expect(stage.starts(id)).toBe(3);
});

promise(OUTCOME, 'a handler may make its job dead at once', async (stage) => {
  const id = await stage.enqueue({ fail: 'it will never work', dead: true });
  stage.start();
  expect(await stage.reaches(id, 'dead')).toMatchObject({ attempt: 1 });
});

promise(OUTCOME, 'a handler may release its job, and no attempt is charged', async (stage) => {
  const id = await stage.enqueue({ release: true, delay_seconds: 100 });
  stage.start();
  expect(await stage.reaches(id, 'scheduled')).toMatchObject({ attempt: 0, deliveries: 1, last_error: null });
});

promise(OUTCOME, 'a NUL in what a handler says is no harm', async (stage) => {
  const id = await stage.enqueue({ fail: 'before\u0000after' }, { max_attempts: 1 });
  stage.start();
  expect((await stage.reaches(id, 'dead')).last_error).toContain('before');
});

promise(OUTCOME, 'an error of a megabyte is nacked all the same', async (stage) => {
  const id = await stage.enqueue({ fail: 'x'.repeat(1_000_000) }, { max_attempts: 1 });
  stage.start();
  expect((await stage.reaches(id, 'dead')).last_error.length).toBeGreaterThan(1000);
});

promise(OUTCOME, 'a result that is too large makes its job dead, and says why', async (stage) => {
  const id = await stage.enqueue({ large_result: 100_000 });
  stage.start();
  const dead = await stage.reaches(id, 'dead');
  expect(dead.last_error).toMatch(/result|large/i);
  expect(stage.starts(id)).toBe(1);
});

promise(OUTCOME, 'a refused settlement spoils none that goes with it', async (stage) => {
  const scripts = Array.from({ length: 6 }, (_, i) =>
    i === 2 ? { ms: 700, large_result: 100_000 } : { ms: 700 },
  );
  const ids = await stage.enqueueAll(scripts);
  // So that they gather.
  stage.proxy.harm((one) => (settledIn(one).length > 0 ? { late: 300 } : undefined));
  stage.start({ concurrency: 6 });
  const [bad] = ids.splice(2, 1);
  await stage.reachAll(ids, 'completed');
  await stage.reaches(bad as string, 'dead');
});

promise(
  OUTCOME,
  'follow-ups are enqueued with the ack',
  async (stage) => {
    const id = await stage.enqueue({ follow_up: { queue: stage.queue, payload: { note: 'second' } } });
    const worker = stage.start();
    await stage.reaches(id, 'completed');
    expect((await worker.seen('started', undefined, 2)).payload_text).toContain('second');
  },
  { needs: ['follow-ups'] },
);

promise(
  OUTCOME,
  'a follow-up that finds its queue full is tried again, without doing the work again',
  async (stage) => {
    const full = `${stage.queue}.full`;
    await stage.configure({ max_ready: 1 }, full);
    const blocker = await stage.call('POST', '/jobs', { queue: full, payload: {} });
    const id = await stage.enqueue({ follow_up: { queue: full, payload: {} } });
    const worker = stage.start();
    await worker.seen('finished', id);
    await stage.request((one) => one.answer?.acks?.[0]?.status === 429 || one.status === 429);
    await stage.call('DELETE', `/jobs/${blocker.id}`);
    await stage.reaches(id, 'completed');
    expect(stage.starts(id)).toBe(1);
  },
  { needs: ['follow-ups'] },
);

promise(
  OUTCOME,
  'progress is seen while the job runs',
  async (stage) => {
    const id = await stage.enqueue({ progress: [{ percent: 10 }, { percent: 20 }], ms: 60_000 });
    stage.start();
    await until(async () => (await stage.job(id)).progress?.percent === 20);
    expect((await stage.job(id)).state).toBe('leased');
  },
  { needs: ['progress'] },
);

promise(
  OUTCOME,
  'the next attempt finds the progress of the last one',
  async (stage) => {
    const id = await stage.enqueue({ progress: [{ done: 3 }], fail: 'once' }, { max_attempts: 2 });
    const worker = stage.start();
    await stage.reaches(id, 'dead');
    expect(worker.all('started', id)[1]?.progress).toEqual({ done: 3 });
  },
  { needs: ['progress'] },
);

promise(
  OUTCOME,
  'progress that is refused is told to the handler, and costs no lease',
  async (stage) => {
    const id = await stage.enqueue({ progress: ['x'.repeat(100_000)] }, { max_attempts: 1 });
    stage.start();
    const dead = await stage.reaches(id, 'dead');
    expect(dead.last_error).toMatch(/progress|large/i);
  },
  { needs: ['progress'] },
);
