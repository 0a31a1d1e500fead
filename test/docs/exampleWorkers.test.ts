import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runnableKinds, startWorker } from '../support/examples.ts';
import { type Service, startService } from '../support/service.ts';

const TIMEOUT = 120_000;

let service: Service;
let url: string;
let folder: string;
let path: string;
beforeAll(async () => {
  service = await startService();
  url = await service.listen();
  folder = await mkdtemp(join(tmpdir(), 'dibs-workers-'));
  path = join(folder, 'a file');
  await writeFile(path, 'content');
});
afterAll(async () => {
  await service.stop();
  await rm(folder, { recursive: true, force: true });
});

describe.each(runnableKinds)('the %s worker', (kind) => {
  test(
    'makes the job of an unreadable file dead at once, with a reason, and goes on',
    async () => {
      const queue = `unreadable-${kind}`;
      await service.call('PUT', `/queues/${queue}`, { retention_seconds: 60 });
      const enqueue = async (path: string) =>
        (await service.call('POST', '/jobs', { queue, payload: { path } })).body.id as string;
      const missing = await enqueue(join(folder, 'missing'));
      const good = await enqueue(path);
      const state = async (id: string) => (await service.call('GET', `/jobs/${id}`)).body;

      const worker = startWorker(kind, { DIBS_URL: url, QUEUE: queue });
      try {
        while ((await state(good)).state !== 'completed') await sleep(50);
        while ((await state(missing)).state !== 'dead') await sleep(50);
        expect(await state(missing)).toMatchObject({ attempt: 1, worker: null });
        expect((await state(missing)).last_error).toBeTruthy();
        worker.stop();
        expect(await worker.ended).toEqual({ code: 0, signal: null });
      } finally {
        worker.signal('SIGKILL');
      }
    },
    TIMEOUT,
  );

  test(
    'ends with an error when its claim is refused',
    async () => {
      const worker = startWorker(kind, { DIBS_URL: url, QUEUE: 'not a queue name' });
      expect((await worker.ended).code).toBe(1);
    },
    TIMEOUT,
  );
});
