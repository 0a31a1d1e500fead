import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { idSource } from '../../src/ids.ts';
import type { Job } from '../../src/job.ts';
import { createAskers } from '../../src/relay/askers.ts';
import type { Parcel } from '../../src/relay/receive.ts';

const QUEUE = 7;
const newJob = () => ({ id: idSource(Date.now)(QUEUE), state: 'scheduled' }) as Job;

test('an answer waits for jobs that take some time to arrive, so what comes after it is behind them', async () => {
  const askers = createAskers();
  const job = newJob();
  await askers.wait([job], async () => {
    await sleep(300);
    const parcel = { queueId: QUEUE, jobs: [{ id: job.id }] } as Parcel;
    askers.arrived(parcel, new Map([[job.id, { ...job, state: 'ready' }]]));
  });
  expect(job.state).toBe('ready');
});

test('but not for long, and not where they cannot be sent', async () => {
  const patient = createAskers(60_000);
  const began = performance.now();
  await patient.wait([newJob()], (queueId) => patient.of(queueId)());
  expect(performance.now() - began).toBeLessThan(10_000);
  const job = newJob();
  await createAskers().wait([job], () => undefined);
  expect(job.state).toBe('scheduled');
  expect(performance.now() - began).toBeLessThan(10_000);
});
