import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { type Service, startService } from '../support/service.ts';
import { textOf } from '../support/sources.ts';

const blocksOf = (page: string) =>
  [...textOf(page).matchAll(/^```sh\n(.*?)^```/gms)]
    .map(([, block = '']) => block)
    .filter((block) => block.includes('"$DIBS/'));

/** Jobs for the examples, and one that somebody holds. */
async function prepare({ call }: Service): Promise<{ ID: string; TOKEN: string }> {
  await call('POST', '/jobs/batch', { jobs: Array.from({ length: 20 }, () => ({ queue: 'mail' })) });
  const [{ id: ID, lease_token: TOKEN }] = (await call('POST', '/jobs/claim', { queues: ['mail'] })).body
    .jobs;
  return { ID, TOKEN };
}

/** Does the job for whose result an example waits. */
async function work({ call }: Service): Promise<void> {
  const { body } = await call('POST', '/jobs/claim', { queues: ['thumbnails'], wait_seconds: 60 });
  for (const { id, lease_token } of body.jobs) await call('POST', `/jobs/${id}/ack`, { lease_token });
}

test.each([
  { page: 'docs/producing.md', isDead: false },
  { page: 'docs/consuming.md', isDead: false },
  { page: 'docs/schedules.md', isDead: false },
  // The page says what to do with dead jobs.
  { page: 'docs/operating.md', isDead: true },
])('none of the curl lines of $page is refused', async ({ page, isDead }) => {
  const service = await startService();
  onTestFinished(() => service.stop());
  const folder = mkdtempSync(join(tmpdir(), 'dibs-curl-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const { ID, TOKEN } = await prepare(service);
  if (isDead) await service.call('POST', `/jobs/${ID}/nack`, { lease_token: TOKEN, retry: false });

  const blocks = blocksOf(page);
  expect(blocks.length).toBeGreaterThan(0);
  const env = { ...process.env, DIBS: await service.listen(), ID, TOKEN };
  const played = promisify(execFile)('bash', ['-c', `set -euo pipefail\n${blocks.join('')}`], {
    cwd: folder,
    env,
  });
  const isWaiting = blocks.some((block) => block.includes('prefer: wait'));
  await Promise.all([played, isWaiting && work(service)]);
});
