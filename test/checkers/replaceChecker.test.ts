import { expect, test } from 'vitest';
import { batchViolations } from '../support/checks/batches.ts';
import { intentViolations } from '../support/checks/fates.ts';
import { replaceViolations } from '../support/checks/replaced.ts';
import type { Intent, Life } from '../support/life.ts';
import { job, leased } from '../support/lives.ts';

const SPEC = { unique_key: 'k', on_duplicate: 'replace' as const };

/** An enqueue that was sent at `sent` and replaced this job. */
function replacing(life: Life, sent: number): Intent {
  const { intent } = job('', sent, SPEC);
  return Object.assign(intent, { outcome: 'deduplicated', named: life.id, replaced: true, jobs: new Set() });
}
/** A lease of it with the payload of this intent. */
function carrying(life: Life, { spec }: Intent, start: number, until: number): Life {
  const lease = leased(life, start, until).leases.at(-1);
  if (lease) lease.tag = spec.payload.tag;
  return life;
}

test('a lease with the payload that was sent last is no violation, nor one that began before the answer', () => {
  const life = job('a', 0, SPEC);
  const second = replacing(life, 100);
  carrying(life, life.intent, 105, 200);
  carrying(life, second, 300, 400);
  expect(replaceViolations([life], [life.intent, second])).toEqual([]);
});

test('a lease with a payload that had been replaced is found', () => {
  const life = job('a', 0, SPEC);
  const [second, third] = [replacing(life, 100), replacing(life, 200)];
  carrying(life, second, 300, 400);
  const found = replaceViolations([life], [life.intent, second, third]);
  expect(found).toEqual([expect.stringContaining(`came with tag ${second.spec.payload.tag} later`)]);
});

test('a payload whose enqueue was not answered may be the newest', () => {
  const life = job('a', 0, SPEC);
  const [second, open] = [replacing(life, 100), replacing(life, 50)];
  Object.assign(open, { outcome: 'unknown', answered: Number.POSITIVE_INFINITY });
  carrying(life, open, 300, 400);
  expect(replaceViolations([life], [life.intent, second, open])).toEqual([]);
});

test('a job that was replaced while it was leased is found', () => {
  const life = job('a', 0, SPEC);
  const second = replacing(life, 200);
  carrying(life, life.intent, 100, 400);
  const found = replaceViolations([life], [life.intent, second]);
  expect(found).toEqual([expect.stringContaining('was leased then')]);
});

test('a job that was first seen with the payload of one that replaced it is that job', () => {
  const second = replacing(job('a', 0, SPEC), 100);
  second.jobs.add('a');
  expect(intentViolations([second])).toEqual([]);
  expect(intentViolations([Object.assign(second, { replaced: false })])).toHaveLength(1);
});

test('such a job is not counted for the batch that the other one named', () => {
  const own = job('a', 0, { ...SPEC, batch: 'b' }).intent;
  own.outcome = 'unknown';
  const found = { state: 'succeeded', counts: { completed: 0 } };
  const follower = (id: string) => job(id, 0).intent;
  const batch = { id: 'b', on_success: follower('s'), on_end: follower('e'), found };
  expect(batchViolations([batch], [own])).toEqual([]);
});
