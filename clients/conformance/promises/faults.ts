import { expect } from 'vitest';
import { startService } from '../../../test/support/service.ts';
import { until } from '../../../test/support/until.ts';
import { promise } from '../promises.ts';
import { claimIn, type Exchange, extendedIn, settledIn, waits } from '../proxy.ts';
import type { Stage } from '../stage.ts';

const GROUP = 'Faults';

/** Does this to the first request that fits. */
function harmOnce(stage: Stage, fits: Parameters<Stage['proxy']['harm']>[0], harm: ReturnType<typeof fits>) {
  let count = 0;
  stage.proxy.harm((one) => (fits(one) && count++ === 0 ? harm : undefined));
  return { count: () => count };
}
const isClaim = (one: Parameters<typeof claimIn>[0]) => (claimIn(one) ? 'cut' : undefined);
const settles = (one: Parameters<typeof claimIn>[0]) => (settledIn(one).length > 0 ? 'cut' : undefined);

promise(GROUP, 'a lost answer to a claim costs no lease', async (stage) => {
  const ids = await stage.enqueueAll([{}, {}, {}]);
  harmOnce(stage, isClaim, 'lose');
  stage.start({ concurrency: 3 });
  await stage.reachAll(ids, 'completed');
  for (const id of ids) {
    expect(await stage.job(id)).toMatchObject({ attempt: 1, deliveries: 1 });
    expect(stage.starts(id)).toBe(1);
  }
  const [first, second] = stage.proxy.exchanges.filter(claimIn);
  expect(claimIn(second as never).claim_id).toBe(claimIn(first as never).claim_id);
});

promise(
  GROUP,
  'a lost answer to a settlement with a claim costs no lease, and does no work twice',
  async (stage) => {
    const ids = await stage.enqueueAll([{}, {}, {}]);
    harmOnce(stage, settles, 'lose');
    stage.start();
    await stage.reachAll(ids, 'completed');
    for (const id of ids) {
      expect(await stage.job(id)).toMatchObject({ attempt: 1, deliveries: 1 });
      expect(stage.starts(id)).toBe(1);
    }
  },
);

promise(GROUP, 'a lost answer to a nack charges one attempt', async (stage) => {
  const backoff = { kind: 'constant', base_seconds: 600, max_seconds: 600, jitter: 0 };
  const id = await stage.enqueue({ fail: 'once' }, { backoff });
  harmOnce(stage, settles, 'lose');
  stage.start();
  await until(() => stage.proxy.exchanges.filter(settles).length >= 2);
  expect(await stage.reaches(id, 'scheduled')).toMatchObject({ attempt: 1, deliveries: 1 });
});

promise(GROUP, 'a settlement that never arrived is sent again, and the work is not', async (stage) => {
  const id = await stage.enqueue({ result: 7 });
  harmOnce(stage, settles, 'cut');
  stage.start();
  expect((await stage.reaches(id, 'completed')).result).toBe(7);
  expect(stage.starts(id)).toBe(1);
});

promise(GROUP, 'a settlement is sent until Dibs takes it', async (stage) => {
  const id = await stage.enqueue();
  let refused = 0;
  stage.proxy.harm((one) => (settles(one) && refused++ < 4 ? { status: 503 } : undefined));
  stage.start();
  await stage.reaches(id, 'completed');
  expect(refused).toBeGreaterThanOrEqual(4);
  expect(stage.starts(id)).toBe(1);
});

/** A settlement that carries a claim. */
const carries = (one: Exchange) => (settledIn(one).length > 0 && claimIn(one) ? 'cut' : undefined);

promise(
  GROUP,
  'a settlement that is refused together with a claim goes once more by itself, and counts',
  async (stage) => {
    const id = await stage.enqueue({ result: 7 });
    let refused = 0;
    stage.proxy.harm((one) => {
      if (!carries(one)) return undefined;
      refused++;
      return { status: 403, code: 'forbidden' };
    });
    const worker = stage.start();
    expect((await stage.reaches(id, 'completed')).result).toBe(7);
    expect(refused).toBe(1);
    expect(worker.all('refused')).toEqual([]);
    expect(worker.isOver).toBe(false);
  },
);

promise(
  GROUP,
  'a claim that a failed settlement carried waits out its Retry-After, too, and goes by itself',
  async (stage) => {
    const id = await stage.enqueue();
    harmOnce(stage, carries, { status: 503, headers: { 'retry-after': '2' } });
    stage.start();
    const first = await stage.request(carries);
    const next = await stage.request((one) => claimIn(one) && one.at > first.at);
    expect(next.at - first.at).toBeGreaterThanOrEqual(1990);
    expect(next.path).toBe('/jobs/claim');
    expect(next.body.claim_id).toBe(first.body.claim.claim_id);
    await stage.reaches(id, 'completed');
  },
);

/** Dibs cannot reach the database of each of these items. Whether they are settled, it cannot tell. */
function awayFor({ body }: Exchange) {
  const problem = {
    type: 'urn:problem-type:dibs:unavailable',
    title: 'The service is temporarily unavailable',
    status: 503,
    detail: 'The database does not answer. Try again later.',
    code: 'unavailable',
    outcome: 'unknown',
  };
  const lists = ['acks', 'nacks', 'releases', 'extends'].map((list) => [
    list,
    (body[list] ?? []).map(({ id }: { id: string }) => ({ id, status: 503, problem })),
  ]);
  const text = JSON.stringify({ ...Object.fromEntries(lists), ...(body.claim && { jobs: [] }) });
  return { status: 200, headers: { 'content-type': 'application/json' }, text };
}

promise(
  GROUP,
  'an item of a settlement that is answered 503 is sent again, and the work is not',
  async (stage) => {
    const [one, failing] = await stage.enqueueAll([{ result: 7 }, { fail: 'once', dead: true }]);
    let refused = 0;
    stage.proxy.harm((exchange) =>
      settledIn(exchange).length > 0 && refused++ < 3 ? awayFor(exchange) : undefined,
    );
    const worker = stage.start({ concurrency: 2 });
    expect((await stage.reaches(one as string, 'completed')).result).toBe(7);
    await stage.reaches(failing as string, 'dead');
    for (const id of [one, failing]) expect(stage.starts(id as string)).toBe(1);
    expect(worker.isOver).toBe(false);
  },
);

promise(
  GROUP,
  'an item that is answered 503, and was settled all the same, is no lost lease',
  async (stage) => {
    await stage.configure({ retention_seconds: 0 });
    const id = await stage.enqueue();
    let count = 0;
    stage.proxy.harm((exchange) => {
      if (settledIn(exchange).length === 0 || count++ > 0) return undefined;
      const [{ lease_token }] = exchange.body.acks;
      // It arrives before the worker sends it again: that has to wait for this answer.
      return { ...awayFor(exchange), first: () => stage.call('POST', `/jobs/${id}/ack`, { lease_token }) };
    });
    const worker = stage.start({ stop_on: 'settled' });
    expect(await worker.ended(20_000 * stage.pace)).toBeUndefined();
    expect(count).toBe(2);
  },
  { needs: ['own stop'] },
);

promise(
  GROUP,
  'an extend that is answered 503 in a list is sent again in time',
  async (stage) => {
    const id = await stage.enqueue({ ms: 5000 * stage.pace });
    let refused = 0;
    stage.proxy.harm((exchange) =>
      exchange.path === '/jobs/settle' && extendedIn(exchange).includes(id) && refused++ < 2
        ? awayFor(exchange)
        : undefined,
    );
    const worker = stage.start({ lease_seconds: 3 * stage.pace });
    expect(await stage.reaches(id, 'completed')).toMatchObject({ deliveries: 1 });
    expect(refused).toBeGreaterThanOrEqual(3);
    expect(worker.all('signal')).toEqual([]);
  },
  { isTimed: true },
);

for (const [status, code] of [
  [503, 'unavailable'],
  [429, 'rate_limited'],
] as const)
  promise(GROUP, `a claim that is answered ${status} is sent again after Retry-After`, async (stage) => {
    const id = await stage.enqueue();
    harmOnce(stage, isClaim, { status, code, headers: { 'retry-after': '2' } });
    stage.start();
    await stage.reaches(id, 'completed');
    const [first, second] = stage.proxy.exchanges.filter(claimIn);
    expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThanOrEqual(1990);
  });

promise(GROUP, 'a page of HTML from a proxy is a failure like others', async (stage) => {
  const id = await stage.enqueue();
  harmOnce(stage, isClaim, {
    status: 502,
    text: '<html>Bad gateway</html>',
    headers: { 'content-type': 'text/html' },
  });
  stage.start();
  await stage.reaches(id, 'completed');
});

promise(GROUP, 'an answer of 200 that is no JSON is a lost answer', async (stage) => {
  const id = await stage.enqueue();
  harmOnce(stage, isClaim, {
    status: 200,
    text: '<html>Welcome</html>',
    headers: { 'content-type': 'text/html' },
  });
  stage.start();
  await stage.reaches(id, 'completed');
});

promise(GROUP, 'an error of Dibs itself ends no worker', async (stage) => {
  const id = await stage.enqueue();
  harmOnce(stage, isClaim, { status: 500, code: 'internal' });
  stage.start();
  await stage.reaches(id, 'completed');
});

promise(GROUP, 'a worker that starts before Dibs begins when Dibs is there', async (stage) => {
  stage.proxy.harm(() => 'cut');
  const worker = stage.start();
  await until(() => stage.proxy.exchanges.length >= 3);
  stage.proxy.heal();
  const id = await stage.enqueue();
  await worker.seen('finished', id);
});

promise(GROUP, 'while Dibs is away, a worker tries again and again, but not in a hurry', async (stage) => {
  stage.proxy.harm(() => 'cut');
  stage.start({ concurrency: 50 });
  const first = await stage.request(() => true);
  await until(() => performance.now() - first.at > 4000);
  expect(stage.proxy.exchanges.length).toBeLessThanOrEqual(40);
  expect(stage.proxy.exchanges.length).toBeGreaterThanOrEqual(2);
});

promise(GROUP, 'claims that are answered empty at once are repeated, but not in a hurry', async (stage) => {
  const empty = { status: 200, headers: { 'content-type': 'application/json' }, text: '{"jobs":[]}' };
  stage.proxy.harm((one) => (waits(one) ? empty : undefined));
  const worker = stage.start();
  const first = await stage.request(waits);
  await until(() => performance.now() - first.at > 4000);
  const { length } = stage.proxy.exchanges.filter(waits);
  expect(length).toBeLessThanOrEqual(40);
  expect(length).toBeGreaterThanOrEqual(2);
  stage.proxy.heal();
  await stage.reaches(await stage.enqueue(), 'completed');
  expect(worker.all('retrying')).toEqual([]);
});

promise(
  GROUP,
  'progress that cannot be sent is sent again, but not in a hurry',
  async (stage) => {
    const id = await stage.enqueue({ progress: [{ percent: 10 }], ms: 60_000 });
    const extended = () => stage.proxy.exchanges.filter((one) => extendedIn(one).includes(id));
    stage.proxy.harm((one) => {
      if (!extendedIn(one).includes(id)) return undefined;
      return extended().length % 2 === 0 ? 'cut' : { status: 503 };
    });
    stage.start({ lease_seconds: 60 });
    const first = await stage.request((one) => extendedIn(one).includes(id));
    await until(() => performance.now() - first.at > 4000);
    expect(extended().length).toBeLessThanOrEqual(40);
    expect(extended().length).toBeGreaterThanOrEqual(2);
    stage.proxy.heal();
    await until(async () => (await stage.job(id)).progress?.percent === 10);
  },
  { needs: ['progress'] },
);

promise(GROUP, 'a connection that breaks while the claim waits is made again', async (stage) => {
  const worker = stage.start({ wait_seconds: 60 });
  await stage.request(waits);
  stage.proxy.breakAll();
  await until(() => stage.proxy.exchanges.filter(waits).length >= 2);
  const id = await stage.enqueue();
  await worker.seen('finished', id);
});

promise(
  GROUP,
  'requests that are cut, lost, late and refused at random: each job is done once',
  async (stage) => {
    const ids = await stage.enqueueAll(
      Array.from({ length: 25 }, (_, i) => ({ ms: (i % 5) * 30, result: i })),
    );
    let n = 0;
    const faults = ['cut', undefined, 'lose', undefined, { status: 503 }, { late: 100 }, undefined] as const;
    stage.proxy.harm((one) => (extendedIn(one).length > 0 ? undefined : faults[n++ % faults.length]));
    stage.start({ concurrency: 5, wait_seconds: 1 });
    await stage.reachAll(ids, 'completed');
    for (const id of ids) {
      expect(stage.starts(id)).toBe(1);
      expect((await stage.job(id)).attempt).toBe(1);
    }
  },
);

promise(
  GROUP,
  'a restart of Dibs in the middle of the work ends no worker, and does no job twice',
  async (stage) => {
    const old = await startService({ databaseUrl: stage.databaseUrl, asOwner: true });
    stage.proxy.aim(await old.listen());
    const ids = await stage.enqueueAll(Array.from({ length: 12 }, () => ({ ms: 150 })));
    // A restart that takes longer costs the jobs of a session an attempt.
    const worker = stage.start({ concurrency: 2, resume_seconds: 60 });
    await worker.seen('started', undefined, 4);
    // New connections find nobody. Without this, they may find another Dibs, which got the port.
    stage.proxy.harm(() => 'cut');
    await old.stop();
    const next = await startService({ databaseUrl: stage.databaseUrl, asOwner: true });
    try {
      stage.proxy.aim(await next.listen());
      stage.proxy.heal();
      await stage.reachAll(ids, 'completed');
      for (const id of ids) expect(stage.starts(id)).toBe(1);
      expect(worker.isOver).toBe(false);
    } finally {
      await worker.stop();
      await next.stop();
    }
  },
);

promise(GROUP, 'a key that is refused ends the worker, and its error says why', async (stage) => {
  stage.proxy.harm(() => ({ status: 401, code: 'unauthorized' }));
  expect(await stage.start().ended()).toBe('unauthorized');
});

promise(GROUP, 'a claim that is wrong ends the worker, and its error says why', async (stage) => {
  expect(await stage.start({ queues: ['not a queue name'] }).ended()).toBe('invalid_request');
});

promise(GROUP, 'a worker whose claim is refused lets its other jobs end', async (stage) => {
  const id = await stage.enqueue({ ms: 2500, result: 'done' });
  const worker = stage.start({ concurrency: 2, wait_seconds: 1 });
  await worker.seen('started', id);
  stage.proxy.harm((one) => (one.path === '/jobs/claim' ? { status: 403, code: 'forbidden' } : undefined));
  expect(await worker.ended()).toBe('forbidden');
  expect((await stage.reaches(id, 'completed')).result).toBe('done');
});
