import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import { startProxy } from '../../clients/conformance/proxy.ts';
import { Client } from '../../clients/typescript/src/client.ts';
import { Worker } from '../../clients/typescript/src/worker.ts';
import { moves } from '../support/moves.ts';
import { type Service, startService } from '../support/service.ts';
import { until } from '../support/until.ts';

const undo: (() => unknown)[] = [];
afterEach(async () => {
  for (const one of undo.splice(0).toReversed()) await one();
});

test('a worker keeps its leases through a rolling restart of replicas', async () => {
  const first = await startService();
  undo.push(first.stop);
  const replica = async () => {
    const service = await startService({ databaseUrl: first.databaseUrl });
    return { service, url: await service.listen() };
  };
  const at = moves(first);
  const queue = at.newQueue();
  await at.configure(queue, { retention_seconds: 600 });
  let serving: { service: Service; url: string } = await replica();
  const proxy = await startProxy(serving.url);
  undo.push(proxy.close);
  const ids: string[] = [];
  for (let i = 0; i < 5; i++) ids.push((await at.enqueue({ queue })).id);
  let isOver = false;
  let begun = 0;
  const worker = new Worker(
    new Client({ url: proxy.url }),
    { queues: [queue], leaseSeconds: 600, logger: null },
    async (job) => {
      begun++;
      await until(() => isOver || job.signal.aborted, { withinMs: 120_000 });
      job.signal.throwIfAborted();
    },
  );
  const working = worker.run();
  undo.push(() => worker.stop({ deadlineSeconds: 0 }));
  await until(() => begun === ids.length);
  for (let restarts = 0; restarts < 3; restarts++) {
    const next = await replica();
    const before = proxy.sessions.length;
    proxy.aim(next.url);
    await serving.service.stop();
    serving = next;
    await until(() => proxy.sessions.length > before && proxy.sessions.at(-1)?.answer?.session);
  }
  undo.push(() => serving.service.stop());
  await sleep(3000);
  isOver = true;
  for (const id of ids)
    expect(await at.reaches(id, 'completed')).toMatchObject({ attempt: 1, deliveries: 1 });
  expect(begun).toBe(ids.length);
  expect(new Set(proxy.sessions.map(({ answer }) => answer?.session)).size).toBe(1);
  await worker.stop();
  await working;
});
