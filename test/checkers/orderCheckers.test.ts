import { describe, expect, test } from 'vitest';
import { groupViolations } from '../support/checks/groups.ts';
import { uniqueViolations } from '../support/checks/unique.ts';
import type { Lease } from '../support/history.ts';
import type { Intent, Life } from '../support/life.ts';
import { ended, job, leased, nothing, redriven } from '../support/lives.ts';

describe('the checker of groups', () => {
  const grouped = { group: 'g' };
  const check = (lives: Life[], sweeps = nothing) => groupViolations(lives, sweeps);

  test('accepts jobs that are each leased after the end of those before them', () => {
    const first = leased(leased(job('a', 0, grouped), 100, 200, { verb: 'nack' }), 300, 400, {});
    expect(check([first, leased(job('b', 50, grouped), 405, 500)])).toEqual([]);
  });

  test('finds two jobs of a group that are leased at once, in any order', () => {
    const lives = [leased(job('a', 0, grouped), 100, 300), leased(job('b', 5, grouped), 200, 400)];
    expect(check(lives)).toEqual([expect.stringContaining('job b was leased while job a was')]);
    expect(check(lives.toReversed())).toEqual([expect.stringContaining('job b was leased while job a was')]);
  });

  test('finds more jobs of a group at once than their queue allows', () => {
    const lives = ['a', 'b', 'c'].map((id) => leased(job(id, 0, grouped), 100, 300));
    expect(groupViolations(lives, nothing, () => 3)).toEqual([]);
    expect(groupViolations(lives, nothing, () => 2)).toEqual([
      expect.stringContaining('3 leases ran at once, where 2 may'),
    ]);
  });

  test('finds a job that is leased while an earlier one of its group backs off', () => {
    const first = leased(leased(job('a', 0, grouped), 100, 200, { verb: 'nack' }), 600, 700, {});
    const second = leased(job('b', 50, grouped), 300, 400);
    expect(check([first, second])).toEqual([expect.stringContaining('job b was leased though job a')]);
    expect(check([first, leased(job('b', 50), 300, 400)])).toEqual([]);
  });

  test('finds a job that is leased before an earlier one of the same request', () => {
    const [a, b] = [job('a', 0, grouped), job('b', 0, grouped)];
    b.intent.request = a.intent.request;
    b.intent.index = 1;
    leased(b, 100, 200, {});
    leased(a, 300, 400, {});
    expect(check([a, b])).toEqual([expect.stringContaining('job b was leased though job a')]);
    a.intent.index = 2;
    expect(check([a, b])).toEqual([]);
  });

  test('finds a job that is leased before an earlier one that died later, unless that one may have been redriven', () => {
    const first = leased(job('a', 0, { ...grouped, max_attempts: 1 }, ended('dead', 900)), 100, 200);
    const second = leased(job('b', 50, grouped), 300, 400);
    expect(check([first, second])).toEqual([expect.stringContaining('job b was leased though job a')]);
    expect(check([first, second], redriven)).toEqual([]);
    const released = leased(job('a', 0, { ...grouped, max_attempts: 1 }), 100, 200, {
      verb: 'release',
      sent: 500,
    });
    expect(check([leased(released, 600, 700), second])).toEqual([]);
  });

  test('accepts a job when the earlier one was released in time, but perhaps not before its lease ran out', () => {
    const first = leased(job('a', 0, { ...grouped, max_attempts: 1 }), 100, 190, {
      verb: 'release',
      answered: 500,
    });
    const [lease] = first.leases as [Lease];
    leased(first, 600, 700);
    const second = leased(job('b', 50, grouped), 300, 400);
    expect(check([first, second])).toEqual([expect.stringContaining('job b was leased though job a')]);
    lease.ends = 200;
    expect(check([first, second])).toEqual([]);
  });

  test('accepts a job when an unanswered claim had leased the earlier one, which Dibs may have released late', () => {
    const first = leased(job('a', 0, { ...grouped, max_attempts: 1 }), 500, 600, {});
    const second = leased(job('b', 50, grouped), 300, 400);
    expect(check([first, second])).toEqual([expect.stringContaining('job b was leased though job a')]);
    const [lease] = first.leases as [Lease];
    lease.deliveries = 2;
    expect(check([first, second])).toEqual([]);
    first.intent.spec.max_attempts = 3;
    expect(check([first, second])).toEqual([expect.stringContaining('job b was leased though job a')]);
  });

  test('accepts jobs that may have arrived in another order: sent at once, or delayed', () => {
    const second = leased(job('b', 5, grouped), 100, 200, {});
    expect(check([leased(job('a', 0, grouped), 300, 400), second])).toEqual([]);
    const delayed = leased(job('a', 0, { ...grouped, delay_seconds: 0.2 }), 300, 400);
    expect(check([delayed, leased(job('b', 50, grouped), 100, 200, {})])).toEqual([]);
  });

  test('accepts a job when the earlier one may have died, or was settled late', () => {
    const late = leased(job('a', 0, { ...grouped, max_attempts: 1 }, ended('dead', 900)), 100, 200, {
      verb: 'nack',
      sent: 890,
    });
    expect(check([late, leased(job('b', 50, grouped), 300, 400)])).toEqual([]);
  });
});

describe('the checker of unique keys', () => {
  const withKey = { unique_key: 'k' };
  const check = (lives: Life[], { sweeps = nothing, intents = [] as Intent[] } = {}) =>
    uniqueViolations(lives, intents, sweeps);

  test('accepts a key that is taken again after the end of its job', () => {
    expect(check([leased(job('a', 0, withKey), 100, 200, {}), job('b', 195, withKey)])).toEqual([]);
  });

  test('finds a job that was created while another had its key', () => {
    const first = leased(job('a', 0, withKey), 100, 200, {});
    expect(check([first, job('b', 150, withKey)])).toEqual([expect.stringContaining('had it at once')]);
    expect(check([job('b', 150, withKey), first])).toEqual([expect.stringContaining('had it at once')]);
    expect(check([first, job('b', 150, { unique_key: 'other' })])).toEqual([]);
    expect(check([first, job('b', 150, { ...withKey, queue: 'other' })])).toEqual([]);
  });

  test('finds two jobs that were sent at once and were unfinished at once', () => {
    const first = leased(job('a', 0, withKey), 100, 200, {});
    const second = leased(leased(job('b', 5, withKey), 50, 60, { verb: 'nack' }), 250, 300, {});
    expect(check([first, second])).toEqual([expect.stringContaining('had it at once')]);
  });

  test('accepts a job when the other one may have died and been redriven', () => {
    const died = leased(job('a', 0, { ...withKey, max_attempts: 1 }), 100, 200);
    const redrivenLater = leased(died, 600, 700, {});
    const second = leased(job('b', 300, withKey), 350, 400, {});
    expect(check([redrivenLater, second])).toEqual([expect.stringContaining('had it at once')]);
    expect(check([redrivenLater, second], { sweeps: redriven })).toEqual([]);
    expect(check([{ ...redrivenLater, retried: 300 }, second])).toEqual([]);
    leased(second, 650, 700);
    expect(check([redrivenLater, second], { sweeps: redriven })).toEqual([
      expect.stringContaining('was leased while'),
    ]);
  });

  test('finds a job that was created within the window of its key, and accepts one after it', () => {
    const first = leased(job('a', 0, { ...withKey, unique_for_seconds: 1 }), 10, 50, {});
    expect(check([first, job('b', 900, withKey)])).toEqual([expect.stringContaining('is kept')]);
    expect(check([first, job('b', 1000, withKey)])).toEqual([]);
  });

  test('finds an answer that names a finished job, or one with another key', () => {
    const named = leased(job('a', 0, withKey), 100, 200, {});
    const intent = (sent: number, unique_key = 'k'): Intent => ({
      ...job('b', sent, { unique_key }).intent,
      outcome: 'deduplicated',
      named: 'a',
    });
    expect(check([named], { intents: [intent(205)] })).toEqual([]);
    expect(check([named], { intents: [intent(300)] })).toEqual([expect.stringContaining('was finished')]);
    expect(check([named], { intents: [intent(150, 'l')] })).toEqual([expect.stringContaining('key k of q')]);
    named.intent.spec.unique_for_seconds = 1;
    expect(check([named], { intents: [intent(300)] })).toEqual([]);
    expect(check([named], { intents: [intent(2000)] })).toEqual([expect.stringContaining('was finished')]);
  });
});
