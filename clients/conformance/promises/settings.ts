import { expect } from 'vitest';
import { until } from '../../../test/support/until.ts';
import type { WorkerSettings } from '../driver.ts';
import { promise } from '../promises.ts';
import type { Stage } from '../stage.ts';

const GROUP = 'Settings';

/** Not even the worker can be made. Nothing is sent, and no error shows a secret. */
async function isRefused(stage: Stage, settings: Partial<WorkerSettings>): Promise<void> {
  const worker = stage.start(settings);
  expect(await worker.ended(), JSON.stringify(settings)).toBe('config');
  expect(worker.texts).not.toContain('topsecret');
  expect(stage.proxy.exchanges).toEqual([]);
}

promise(GROUP, 'a URL that can be no URL of Dibs is refused at once', async (stage) => {
  for (const url of [
    'localhost:8080',
    '127.0.0.1:8080',
    'dibs.example',
    '//127.0.0.1:8080',
    'htp://127.0.0.1:8080',
    'http://',
    'http://127.0.0.1:99999',
    'http://127.0.0.1:port',
    'http://127.0.0.1:-1',
    'http://somebody:topsecret@127.0.0.1:1',
    'http://127.0.0.1:1/?key=topsecret',
    'http://127.0.0.1:1/#part',
    'http://a b:1',
  ])
    await isRefused(stage, { url });
});

promise(GROUP, 'a key that no header may have is refused at once, and is not shown', async (stage) => {
  for (const key of [
    'top\nsecret',
    'topsecret\r\nx: y',
    'topsecret key',
    'topsecret\u00e9',
    'topsecret\u007f',
  ])
    await isRefused(stage, { key });
});

promise(GROUP, 'white space around a key and a URL is cut off', async (stage) => {
  const id = await stage.enqueue();
  stage.start({ key: ' some-key\n', url: ` ${stage.proxy.url}/\n` });
  await stage.reaches(id, 'completed');
  for (const one of stage.proxy.exchanges) expect(one.authorization).toBe('Bearer some-key');
});

promise(GROUP, 'a path before those of Dibs is kept', async (stage) => {
  stage.start({ url: `${stage.proxy.url}/under/this/` });
  expect((await stage.request(() => true)).path).toBe('/under/this/jobs/claim');
});

promise(GROUP, 'a time that is no time is refused at once', async (stage) => {
  await isRefused(stage, { stop_seconds: -1 });
});

promise(
  GROUP,
  'a time-out that is no time is refused at once',
  (stage) => isRefused(stage, { timeout_seconds: -1 }),
  { needs: ['time-outs'] },
);

promise(GROUP, 'no error shows the key', async (stage) => {
  const key = 'dibs_00000000000000000000000000000001_topsecret';
  let n = 0;
  const page = { 'content-type': 'text/html' };
  const faults = [
    'cut',
    { status: 404, text: `<pre>authorization: Bearer ${key}</pre>`, headers: page },
    { status: 503 },
    { status: 200, text: `Bearer ${key}`, headers: page },
    { status: 500, text: `${'x'.repeat(190)}${key}`, headers: page },
    { status: 401, code: 'unauthorized' },
  ] as const;
  stage.proxy.harm(() => faults[Math.min(n++, faults.length - 1)]);
  const worker = stage.start({ key });
  expect(await worker.ended()).toBe('unauthorized');
  expect(worker.all('retrying').length).toBe(5);
  expect(worker.texts).not.toContain('topsecret');
  expect(worker.texts).not.toContain('dibs_0000');
});

promise(GROUP, 'an error says why no answer came', async (stage) => {
  stage.proxy.close();
  const worker = stage.start();
  await worker.seen('retrying');
  expect(worker.texts).toMatch(/ECONNREFUSED|[Cc]onnection refused/);
});

for (const stop_seconds of [2_592_000, 'forever'] as const)
  promise(GROUP, `a stop time of ${stop_seconds} seconds leaves handlers alone`, async (stage) => {
    const id = await stage.enqueue({ ms: 3000, result: 'whole' });
    const worker = stage.start({ stop_seconds });
    await worker.seen('started', id);
    await worker.stop();
    expect(await stage.job(id)).toMatchObject({ state: 'completed', result: 'whole' });
    expect(worker.all('signal')).toEqual([]);
  });

promise(
  GROUP,
  'a deadline of 30 days that stop() is given leaves handlers alone',
  async (stage) => {
    const id = await stage.enqueue({ ms: 3000, result: 'whole' });
    const worker = stage.start();
    await worker.seen('started', id);
    await worker.stop(2_592_000);
    expect((await stage.job(id)).state).toBe('completed');
    expect(worker.all('signal')).toEqual([]);
  },
  { needs: ['own stop'] },
);

promise(GROUP, 'a deadline that is no time stops now', async (stage) => {
  const id = await stage.enqueue({ ms: 60_000 });
  const worker = stage.start({ stop_seconds: 1000 });
  await worker.seen('started', id);
  await worker.stop(-1);
  expect(await stage.job(id)).toMatchObject({ state: 'ready', attempt: 0 });
});

for (const timeout_seconds of [2_592_000, 'forever'] as const)
  promise(
    GROUP,
    `a request may take ${timeout_seconds} seconds`,
    async (stage) => {
      const id = await stage.enqueue();
      const worker = stage.start({ timeout_seconds });
      await stage.reaches(id, 'completed');
      expect(worker.all('retrying')).toEqual([]);
    },
    { needs: ['time-outs'] },
  );

promise(
  GROUP,
  'a producer may repeat for 30 days, or for ever',
  async (stage) => {
    for (const retry_seconds of [2_592_000, 'forever'] as const) {
      let refused = 0;
      stage.proxy.harm(() => (refused++ < 2 ? { status: 503 } : undefined));
      const handle = stage.driver.enqueue(stage.proxy.url, [{ queue: stage.queue }], { retry_seconds });
      await handle.seen('enqueued');
    }
  },
  { needs: ['producer'] },
);

promise(
  GROUP,
  'an enqueue passes what a worker passes, and fails at the rest',
  async (stage) => {
    const page = { text: '<html>default backend</html>', headers: { 'content-type': 'text/html' } };
    for (const fault of [
      { status: 404, ...page },
      { status: 200, ...page },
      { status: 403, ...page },
      'halve',
    ] as const) {
      let harmed = 0;
      stage.proxy.harm(() => (harmed++ === 0 ? fault : undefined));
      await stage.driver.enqueue(stage.proxy.url, [{ queue: stage.queue }]).seen('enqueued');
    }
    expect((await stage.call('GET', `/jobs?queue=${stage.queue}&limit=1000`)).jobs.length).toBe(4);
    for (const [fault, code] of [
      [{ status: 301, ...page }, 'http_301'],
      [{ status: 413, ...page }, 'http_413'],
      [{ status: 401, code: 'unauthorized' }, 'unauthorized'],
      [{ status: 403, code: 'forbidden' }, 'forbidden'],
      [{ status: 404, code: 'route_not_found' }, 'route_not_found'],
    ] as const) {
      const before = stage.proxy.exchanges.length;
      stage.proxy.harm(() => fault);
      const handle = stage.driver.enqueue(stage.proxy.url, [{ queue: stage.queue }]);
      expect(await handle.ended()).toBe(code);
      expect(stage.proxy.exchanges.length - before).toBe(1);
    }
    const refused = stage.driver.enqueue('localhost:1', [{ queue: stage.queue }]);
    await until(() => refused.isOver);
    expect(await refused.ended()).toBe('config');
  },
  { needs: ['producer'] },
);
