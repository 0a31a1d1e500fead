import { expect, test } from 'vitest';
import { withJobs } from '../../routes/http/json/serialize.ts';
import type { Job } from '../../src/job.ts';
import { passesOf } from '../support/passes.ts';

test('a large answer is written in slices, and a small one at once', async () => {
  const job = {
    id: 'x',
    queue: 'q',
    headers: `{"h":"${'x'.repeat(12_000)}"}`,
    payload: null,
  } as unknown as Job;
  const jobs = Array<Job>(1000).fill(job);
  let text: string | Promise<string> = '';
  expect(
    await passesOf(async () => {
      text = await withJobs(jobs, (json) => json);
    }),
  ).toBeGreaterThan(50);
  const one = (await withJobs([job], (json) => json)).slice(1, -1);
  expect(text === `[${jobs.map(() => one).join()}]`).toBe(true);
  expect(withJobs([job], (json) => json)).toBeTypeOf('string');
});
