import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { Client } from '../../clients/typescript/src/client.ts';
import { play } from '../../commands/demo/play.ts';
import { QUEUES } from '../../commands/demo/queues.ts';
import { cliAt } from '../support/cli.ts';
import { createDatabase } from '../support/database.ts';
import { type Service, startService } from '../support/service.ts';
import { onTerminal } from '../support/terminal.ts';
import { until } from '../support/until.ts';

let service: Service;
let address: string;
let dibs: ReturnType<typeof cliAt>;
beforeAll(async () => {
  service = await startService();
  address = await service.listen();
  dibs = cliAt(address);
});
afterAll(() => service.stop());

const body = async (path: string) => (await service.call('GET', path)).body;
const names = async () => (await body('/queues')).queues.map(({ name }: { name: string }) => name);
const demoQueues = QUEUES.map(({ name }) => name).sort();

/** The demo at work. It ends by itself, as --stop tells it. */
let running: ReturnType<typeof dibs> | undefined;
afterEach(async () => {
  await dibs(['demo', '--stop']);
  await running;
  running = undefined;
});

test('every screen has something to tell, and --stop takes away what the demo made and nothing else', async () => {
  await dibs(['enqueue', 'mine', '1']);
  running = dibs(['demo', '--seconds', '600', '--json']);
  const counts = async (queue: string) => (await service.call('GET', `/queues/${queue}`)).body.counts ?? {};
  const has = (queue: string, state: string) =>
    until(async () => (await counts(queue))[state] > 0, { withinMs: 120_000, what: `${queue} ${state}` });
  await has('demo.mail', 'completed');
  await has('demo.images', 'leased');
  await has('demo.orders', 'completed');
  await has('demo.payments', 'dead');
  await has('demo.tenants', 'ready');
  await has('demo.newsletter', 'cancelled');
  await until(async () => (await body('/queues/demo.webhooks/explain')).code === 'rate_limited', {
    withinMs: 120_000,
  });
  await has('demo.reports', 'completed');
  expect(await body('/queues/demo.newsletter')).toMatchObject({ paused: true, counts: { cancelled: 20 } });
  expect((await body('/schedules')).schedules).toMatchObject([{ name: 'demo.reports', paused: false }]);
  expect((await body('/operations')).operations).toMatchObject([{ verb: 'cancel', state: 'done', done: 20 }]);
  expect((await names()).sort()).toEqual([...demoQueues, 'mine']);

  const stopped = await dibs(['demo', '--stop']);
  expect(stopped).toMatchObject({ status: 0, stderr: expect.stringContaining('8 queues and its schedule') });
  const ended = await running;
  expect(ended).toMatchObject({ status: 0, stderr: expect.stringContaining('dibs top') });
  // What it lists asks this Dibs.
  expect(ended.stderr).toContain(`  export DIBS_URL=${address} `);
  // The failures of its workers are part of it, and no news.
  expect(ended.stderr).not.toContain('failed at attempt');
  const told = JSON.parse(ended.stdout);
  expect(told.enqueued).toBeGreaterThan(600);
  expect(told.done).toBeGreaterThan(0);
  expect(told.failed).toBeGreaterThan(0);
  expect(await names()).toEqual(['mine']);
  expect((await body('/schedules')).schedules).toEqual([]);
  expect((await counts('mine')).ready).toBe(1);
  expect((await dibs(['demo', '--stop'])).stderr).toContain('There is no demo at');
});

test('a demo that was killed is taken away by --stop, or taken over by the next one', async () => {
  running = dibs(['demo', '--seconds', '600']);
  await until(async () => (await names()).includes('demo.newsletter'));
  const next = dibs(['demo', '--seconds', '3', '--json']);
  expect(await running).toMatchObject({ status: 0 });
  expect(await next).toMatchObject({ status: 0 });
  // It has ended by itself, and its jobs are there.
  expect((await names()).filter((name: string) => name.startsWith('demo.')).sort()).toEqual(demoQueues);
});

test('a queue or schedule of that name that somebody else made is left alone', async () => {
  await dibs(['enqueue', 'demo.mail', '1']);
  for (const args of [['demo'], ['demo', '--stop']]) await dibs(args);
  expect(await dibs(['demo'])).toMatchObject({
    status: 1,
    stderr: 'dibs: There is a queue "demo.mail" that the demo did not make. Nothing was done.\n',
  });
  expect((await body('/queues/demo.mail')).counts.ready).toBe(1);
  await dibs(['queue', 'delete', 'demo.mail', '--force', '--yes']);
  await dibs(['schedules', 'put', 'demo.reports', '{}', '--cron', '0 0 1 1 *', '--queue', 'mine']);
  for (const args of [['demo'], ['demo', '--stop']])
    expect(await dibs(args)).toMatchObject({
      status: 1,
      stderr: 'dibs: There is a schedule "demo.reports" that the demo did not make. Nothing was done.\n',
    });
  expect(await body('/schedules/demo.reports')).toMatchObject({ cron: '0 0 1 1 *' });
  await dibs(['schedules', 'delete', 'demo.reports']);
});

test('a demo whose time is over before its queues are made ends all the same', async () => {
  const tally = { enqueued: 0, done: 0, failed: 0 };
  await play(new Client({ url: address }), tally, AbortSignal.abort());
  expect(tally).toEqual({ enqueued: 0, done: 0, failed: 0 });
});

test('what is wrong on the command line is said', async () => {
  expect((await dibs(['demo', '--seconds', '0'])).stderr).toContain('It must be a number from 1 to 86400.');
  expect(await dibs(['demo', '--stop', '--seconds', '5'])).toMatchObject({
    status: 2,
    stderr: 'dibs: --stop ends a demo at once: it takes no --seconds.\n',
  });
});

test('where no Dibs runs and none is named, it starts one, and ends it at the end', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'dibs-demo-'));
  const { url, drop } = await createDatabase();
  const env = {
    PORT: '0',
    DATABASE_URL: url,
    DIBS_URL: '',
    DIBS_CONFIG: join(folder, 'none'),
    NO_COLOR: '1',
  };
  const { status, screen } = await onTerminal(
    `exec ${process.execPath} dist/main.js demo`,
    env,
    async (shown, type) => {
      const at = await until(() => /The demo is at work at (http:\S+)/.exec(shown())?.[1]);
      expect(await (await fetch(`${at}/healthz`)).json()).toBeTruthy();
      await until(() => /\d+ enqueued, [1-9]\d* done/.test(shown()), { what: 'the tally' });
      type('\x03');
    },
  );
  expect(screen).toContain('No Dibs runs here, so the demo starts one.');
  expect(screen).toContain('takes away what it made');
  expect(status).toBe(0);
  await drop();
  rmSync(folder, { recursive: true, force: true });
});
