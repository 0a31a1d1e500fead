import { expect } from 'vitest';
import { until } from '../../../test/support/until.ts';
import { promise } from '../promises.ts';
import { claimIn, type Fault, settledIn } from '../proxy.ts';
import type { Stage } from '../stage.ts';

const GROUP = 'Failures that pass';
const html = (status: number, headers: Record<string, string> = {}): Fault => ({
  status,
  text: `<html><body>default backend - ${status}</body></html>`,
  headers: { 'content-type': 'text/html', ...headers },
});
const json = (status: number, body: unknown): Fault => ({
  status,
  text: JSON.stringify(body),
  headers: { 'content-type': 'application/json' },
});
const settles = (one: Parameters<typeof settledIn>[0]) => settledIn(one).length > 0;

/** Once the first of two jobs has begun, all requests get this until several have. Each job is done once, and the worker goes on. */
async function passes(stage: Stage, fault: Fault): Promise<void> {
  const ids = await stage.enqueueAll([{ ms: 300 }, {}]);
  const worker = stage.start();
  await worker.seen('started', ids[0]);
  const before = stage.proxy.exchanges.length;
  stage.proxy.harm(() => fault);
  await until(() => stage.proxy.exchanges.length >= before + 3, { what: 'three requests' });
  stage.proxy.heal();
  await stage.reachAll(ids, 'completed');
  for (const id of ids) expect(stage.starts(id)).toBe(1);
  expect(worker.isOver).toBe(false);
}

for (const status of [400, 401, 403, 404, 405, 502])
  promise(GROUP, `a proxy's page of ${status} ends no worker, and drops no result`, (stage) =>
    passes(stage, html(status)),
  );
promise(GROUP, 'a redirect for now ends no worker, and is not followed', (stage) =>
  passes(stage, html(302, { location: '/elsewhere' })),
);
promise(GROUP, 'a refusal in JSON that is not of Dibs ends no worker', async (stage) => {
  await passes(stage, json(404, { message: 'no Route matched with those values' }));
});
promise(GROUP, 'a problem document that is not of Dibs ends no worker', async (stage) => {
  await passes(stage, json(403, { type: 'about:blank', title: 'Blocked', status: 403, code: 'forbidden' }));
});
promise(GROUP, 'a key that was accepted, and is refused for a moment, ends no worker', (stage) =>
  passes(stage, { status: 401, code: 'unauthorized' }),
);
promise(GROUP, 'a connection that nobody takes ends no worker', (stage) => passes(stage, 'cut'));

for (const [what, fault] of [
  ['that says nothing', { status: 204, text: '' }],
  ['of null', json(200, null)],
  ['of a list', json(200, [])],
  ['without what was asked for', json(200, { status: 'ok' })],
  ['with what was asked for in another shape', json(200, { jobs: {}, acks: 'all' })],
] as [string, Fault][])
  promise(GROUP, `an answer of 2xx ${what} is a lost answer`, (stage) => passes(stage, fault));

promise(GROUP, 'an answer that is cut off in the middle is a lost answer', async (stage) => {
  const ids = await stage.enqueueAll([{}, {}, {}]);
  const harmed = new Set<string>();
  stage.proxy.harm((one) => {
    const kind = settles(one) ? 'settles' : claimIn(one) ? 'claims' : undefined;
    if (!kind || harmed.has(kind)) return undefined;
    harmed.add(kind);
    return 'halve';
  });
  stage.start();
  await stage.reachAll(ids, 'completed');
  expect(harmed.size).toBe(2);
  for (const id of ids) {
    expect(stage.starts(id)).toBe(1);
    expect(await stage.job(id)).toMatchObject({ attempt: 1, deliveries: 1 });
  }
});

for (const code of ['route_not_found', 'method_not_allowed'])
  promise(GROUP, `a settlement that is answered ${code} is sent again`, async (stage) => {
    const id = await stage.enqueue({ result: 'kept' });
    let refused = 0;
    const status = code === 'route_not_found' ? 404 : 405;
    stage.proxy.harm((one) => (settles(one) && refused++ < 3 ? { status, code } : undefined));
    const worker = stage.start();
    expect((await stage.reaches(id, 'completed')).result).toBe('kept');
    expect(refused).toBeGreaterThanOrEqual(3);
    expect(stage.starts(id)).toBe(1);
    expect(worker.isOver).toBe(false);
  });

promise(GROUP, 'a settlement that is forbidden is dropped, and the worker goes on', async (stage) => {
  const [forbidden, next] = await stage.enqueueAll([{}, {}]);
  stage.proxy.harm((one) =>
    settledIn(one).some(([, id]) => id === forbidden) ? { status: 403, code: 'forbidden' } : undefined,
  );
  const worker = stage.start();
  await stage.reaches(next as string, 'completed');
  expect(worker.isOver).toBe(false);
  expect(stage.starts(forbidden as string)).toBe(1);
});

promise(GROUP, 'a proxy that takes no large bodies makes the job dead, and says why', async (stage) => {
  const id = await stage.enqueue({ result: 'x'.repeat(2000) });
  stage.proxy.harm((one) => (JSON.stringify(one.body).length > 2000 ? html(413) : undefined));
  const worker = stage.start();
  expect((await stage.reaches(id, 'dead')).last_error).toMatch(/413/);
  expect(stage.starts(id)).toBe(1);
  expect(worker.isOver).toBe(false);
});

for (const kind of ['nack', 'release'] as const)
  promise(
    GROUP,
    `a ${kind} with a delay that is refused becomes a nack`,
    async (stage) => {
      const script = kind === 'nack' ? { fail: 'the reason' } : { release: true };
      const id = await stage.enqueue({ ...script, delay_seconds: -5 }, { max_attempts: 1 });
      stage.start();
      const { last_error } = await stage.reaches(id, 'dead');
      expect(last_error).toMatch(kind === 'nack' ? /the reason/ : /delay/);
      expect(stage.starts(id)).toBe(1);
    },
    { needs: ['delays'] },
  );

for (const status of [301, 308])
  promise(GROUP, `a URL that moved for good (${status}) ends the worker`, async (stage) => {
    stage.proxy.harm(() => html(status, { location: 'https://elsewhere.example/' }));
    expect(await stage.start().ended()).toBe(`http_${status}`);
  });
promise(GROUP, 'a Dibs that has no such path ends the worker, and its error says why', async (stage) => {
  stage.proxy.harm(() => ({ status: 404, code: 'route_not_found' }));
  expect(await stage.start().ended()).toBe('route_not_found');
});

promise(
  GROUP,
  'a key that was accepted, and is refused for a minute, ends the worker',
  async (stage) => {
    const id = await stage.enqueue({ ms: 300 });
    const worker = stage.start();
    await worker.seen('started', id);
    stage.proxy.harm(() => ({ status: 401, code: 'unauthorized' }));
    const began = performance.now();
    expect(await worker.ended(300_000)).toBe('unauthorized');
    expect(performance.now() - began).toBeGreaterThan(50_000);
    expect(stage.proxy.exchanges.length).toBeLessThan(100);
  },
  { isSlow: true },
);

for (const [what, value] of [
  ['of years', '99999999999'],
  ['without an end', '1e400'],
])
  promise(GROUP, `a Retry-After ${what} is no hurry`, async (stage) => {
    stage.proxy.harm(() => ({ status: 503, headers: { 'retry-after': value as string } }));
    stage.start();
    const first = await stage.request(() => true);
    await until(() => performance.now() - first.at > 4000);
    expect(stage.proxy.exchanges.length).toBeLessThanOrEqual(40);
  });
promise(
  GROUP,
  'a Retry-After of years is waited out for a minute',
  async (stage) => {
    const id = await stage.enqueue();
    let refused = 0;
    stage.proxy.harm(() =>
      refused++ === 0 ? { status: 503, headers: { 'retry-after': '99999999999' } } : undefined,
    );
    const worker = stage.start();
    await until(() => worker.all('finished', id).length > 0, { withinMs: 200_000, what: 'the job' });
    expect((stage.proxy.exchanges[1]?.at ?? 0) - (stage.proxy.exchanges[0]?.at ?? 0)).toBeGreaterThan(55_000);
  },
  { isSlow: true },
);

for (const [what, step] of [
  ['fails', { fail: 'the token file is being replaced' }],
  ['never answers', { hang: true }],
  ['gives a key that cannot be sent', { key: 'a\nb' }],
] as const)
  promise(
    GROUP,
    `a key function that ${what} ends no worker, and drops no result`,
    async (stage) => {
      const ids = await stage.enqueueAll([{}, {}]);
      const good = { key: 'good' };
      const worker = stage.start({
        key: [good, step, step, good, step, good],
        timeout_seconds: 1.5,
        wait_seconds: 1,
      });
      await stage.reachAll(ids, 'completed');
      for (const id of ids) expect(stage.starts(id)).toBe(1);
      expect(worker.isOver).toBe(false);
      expect(worker.texts).not.toContain('a\nb');
      for (const one of stage.proxy.exchanges) expect(one.authorization).toBe('Bearer good');
    },
    { needs: ['key function'] },
  );
