import { describe, expect, test } from 'vitest';
import { expiryViolations, fateViolations, intentViolations } from '../support/checks/fates.ts';
import { limitViolations } from '../support/checks/limits.ts';
import type { Life } from '../support/life.ts';
import { ended, job, leased, nothing, redriven } from '../support/lives.ts';

describe('the checker of limits', () => {
  test('finds too many leases at once, and counts only leases that ran for certain', () => {
    const check = (max_leased: number, lives: Life[]) => limitViolations(lives, { q: { max_leased } });
    const lives = [100, 150, 250].map((start, i) => leased(job(`${i}`, 0), start, start + 100));
    expect(check(2, lives)).toEqual([]);
    expect(check(1, lives)).toEqual([expect.stringContaining('2 leases ran at once')]);
    expect(check(1, [leased(job('a', 0), 100, 200), leased(job('b', 0), 195, 300)])).toEqual([]);
    expect(limitViolations(lives, { other: { max_leased: 1 } })).toEqual([]);
  });

  test('finds too many claims in a window', () => {
    const check = (jobs: number, starts: number[]) =>
      limitViolations(
        starts.map((start, i) => leased(job(`${i}`, 0), start, start + 5000)),
        { q: { rate_limit: { jobs, per_seconds: 1 } } },
      );
    expect(check(2, [0, 500, 1000, 1500])).toEqual([]);
    expect(check(2, [0, 500, 900, 1500])).toEqual([
      expect.stringContaining('3 jobs were claimed within 1 s'),
    ]);
  });
});

describe('the checker of fates', () => {
  const check = (life: Life, { keeps = false, sweeps = nothing } = {}) =>
    fateViolations([life], () => keeps, sweeps);

  test('finds a job that is gone, unless it was acknowledged, cancelled or purged', () => {
    expect(check(job('a', 0))).toEqual([expect.stringContaining('is lost')]);
    expect(check(leased(job('a', 0), 1, 2, { outcome: 'refused' }))).toEqual([
      expect.stringContaining('is lost'),
    ]);
    expect(check(leased(job('a', 0), 1, 2, { outcome: 'unknown' }))).toEqual([]);
    expect(check(job('a', 0, {}, { cancels: [{ sent: 0, answered: 1, status: 202 }] }))).toEqual([]);
    expect(check(job('a', 0, {}, { cancels: [{ sent: 0, answered: 1, status: 409 }] }))).toHaveLength(1);
    const purged = (answered: number) => ({ ...nothing, purges: [{ queue: 'q', answered }] });
    expect(check(job('a', 5), { sweeps: purged(9) })).toEqual([]);
    expect(check(job('a', 5), { sweeps: purged(1) })).toHaveLength(1);
  });

  test('finds a job that is gone from a queue that keeps finished jobs', () => {
    const acked = leased(job('a', 0), 1, 2, {});
    expect(check(acked, { keeps: true })).toEqual([expect.stringContaining('is not kept')]);
    expect(check({ ...acked, ...ended('completed') }, { keeps: true })).toEqual([]);
  });

  test('finds an end that no call gave the job', () => {
    expect(check(job('a', 0, {}, ended('completed')))).toHaveLength(1);
    expect(check(job('a', 0, {}, ended('cancelled')))).toHaveLength(1);
    expect(check(job('a', 0, {}, ended('dead')))).toEqual([expect.stringContaining('too early')]);
    expect(check(job('a', 0, { max_attempts: 1 }, ended('dead')))).toEqual([]);
    expect(check(job('a', 0, { expires_in_seconds: 1 }, ended('dead')))).toEqual([]);
    const killed = { sent: 0, answered: 1 };
    expect(check(job('a', 0, {}, { ...ended('dead'), killed }))).toEqual([]);
  });

  test('finds a job that is unfinished after its ack, and one that is stuck', () => {
    const acked = leased(job('a', 0, { max_attempts: 1 }, ended('dead')), 1, 2, {});
    expect(check(acked)).toEqual([expect.stringContaining('after its ack')]);
    for (const state of ['ready', 'blocked', 'leased', 'scheduled'])
      expect(check(job('a', 0, {}, ended(state)))).toEqual([expect.stringContaining('stuck')]);
  });

  test('finds a job that exists twice, or although its enqueue was refused', () => {
    const intent = job('a', 0).intent;
    expect(intentViolations([intent])).toEqual([]);
    expect(intentViolations([{ ...intent, jobs: new Set(['a', 'b']) }])).toHaveLength(1);
    expect(intentViolations([{ ...intent, outcome: 'refused' }])).toHaveLength(1);
    expect(intentViolations([{ ...intent, outcome: 'deduplicated' }])).toHaveLength(1);
    expect(intentViolations([{ ...intent, outcome: 'unknown' }])).toEqual([]);
  });

  test('finds a job that is claimed after its expiry, unless it was redriven', () => {
    const check = (start: number, sweeps = nothing) =>
      expiryViolations([leased(job('a', 0, { expires_in_seconds: 1 }), start, start + 100)], sweeps);
    expect(check(1005)).toEqual([]);
    expect(check(1011)).toEqual([expect.stringContaining('after it had expired')]);
    expect(check(1011, redriven)).toEqual([]);
  });
});
