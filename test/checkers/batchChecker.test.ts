import { expect, test } from 'vitest';
import { batchViolations, type MadeBatch } from '../support/checks/batches.ts';
import type { Intent } from '../support/life.ts';
import { job } from '../support/lives.ts';

const BATCH = 'the-batch';
const intentOf = (outcome: Intent['outcome'], jobs: string[], batch = BATCH): Intent => ({
  ...job('', 0, { batch }).intent,
  outcome,
  jobs: new Set(jobs),
});
const follower = (...jobs: string[]) => intentOf('unknown', jobs, 'none');

/** A batch of two jobs that are completed, with what differs. */
const made = (more: Partial<MadeBatch> = {}, counts: { [state: string]: number } = { completed: 2 }) => {
  const succeeded = { on_success: follower('s'), on_end: follower('e') };
  return { id: BATCH, ...succeeded, found: { state: 'succeeded', counts }, ...more };
};
const own = [intentOf('done', ['a']), intentOf('done', ['b'])];
const check = (batch: MadeBatch, intents = own) => batchViolations([batch], intents);

test('what is as it has to be is no violation', () => {
  expect(check(made())).toEqual([]);
  const ended = { on_success: follower(), found: { state: 'ended', counts: { completed: 1, dead: 1 } } };
  expect(check(made(ended))).toEqual([]);
  expect(check(made({}, { completed: 2, ready: 0 }), [...own, intentOf('done', ['c'], 'other')])).toEqual([]);
});

test('a follower that came never, twice, or without reason is found', () => {
  expect(check(made({ on_end: follower() }))).toEqual([expect.stringContaining('on_end came 0 times')]);
  expect(check(made({ on_end: follower('e', 'f') }))).toEqual([
    expect.stringContaining('on_end came 2 times: e and f'),
  ]);
  expect(check(made({ on_success: follower() }))).toHaveLength(1);
  const ended = { found: { state: 'ended', counts: { completed: 1, cancelled: 1 } } };
  expect(check(made(ended))).toEqual([expect.stringContaining('on_success came 1 times')]);
});

test('numbers that do not add up are found. What has no answer may count or not', () => {
  for (const completed of [1, 3])
    expect(check(made({}, { completed }))).toEqual([expect.stringContaining('has 2 to 2')]);
  const unknown = [...own, intentOf('unknown', [])];
  for (const completed of [2, 3]) expect(check(made({}, { completed }), unknown)).toEqual([]);
  expect(check(made({}, { completed: 2 }), [...own, intentOf('unknown', ['c'])])).toHaveLength(1);
  for (const outcome of ['refused', 'deduplicated'] as const)
    expect(check(made({}, { completed: 3 }), [...own, intentOf(outcome, [])])).toHaveLength(1);
});

test('a batch that has not ended, is told wrongly, or is gone is found', () => {
  expect(check(made({}, { completed: 1, leased: 1 }))).toEqual([expect.stringContaining('"leased":1')]);
  const found = { state: 'running', counts: { completed: 2 } };
  expect(check(made({ found }))).toEqual([expect.stringContaining('is running')]);
  expect(check({ ...made({}, { completed: 1, dead: 1 }), on_success: follower() })).toHaveLength(1);
  const { found: _, ...gone } = made();
  expect(check(gone)).toEqual([expect.stringContaining('is gone')]);
});
