import { describe, expect, test } from 'vitest';
import { groupViolations } from '../support/checks/groups.ts';
import { uniqueViolations } from '../support/checks/unique.ts';
import type { Intent, Life } from '../support/life.ts';
import { ended, job, leased, nothing, redriven } from '../support/lives.ts';

describe('the checker of groups', () => {
  const grouped = { group: 'g' };
  const check = (lives: Life[], sweeps = nothing) => groupViolations(lives, sweeps);

  test('finds nothing where each job is leased after the end of those before it', () => {
    const first = leased(leased(job('a', 0, grouped), 100, 200, { verb: 'nack' }), 300, 400, {});
    expect(check([first, leased(job('b', 50, grouped), 405, 500)])).toEqual([]);
  });

  test('finds two jobs of a group that are leased at once, whichever came first', () => {
    const lives = [leased(job('a', 0, grouped), 100, 300), leased(job('b', 5, grouped), 200, 400)];
    expect(check(lives)).toEqual([expect.stringContaining('job b was leased while job a was')]);
    expect(check(lives.toReversed())).toEqual([expect.stringContaining('job b was leased while job a was')]);
  });

  test('finds a job that overtakes one of its group during its backoff', () => {
    const first = leased(leased(job('a', 0, grouped), 100, 200, { verb: 'nack' }), 600, 700, {});
    const second = leased(job('b', 50, grouped), 300, 400);
    expect(check([first, second])).toEqual([expect.stringContaining('job b was leased though job a')]);
    expect(check([first, leased(job('b', 50), 300, 400)])).toEqual([]);
  });

  test('finds a job that overtakes one of the same request, but not the other way round', () => {
    const [a, b] = [job('a', 0, grouped), job('b', 0, grouped)];
    b.intent.request = a.intent.request;
    b.intent.index = 1;
    leased(b, 100, 200, {});
    leased(a, 300, 400, {});
    expect(check([a, b])).toEqual([expect.stringContaining('job b was leased though job a')]);
    a.intent.index = 2;
    expect(check([a, b])).toEqual([]);
  });

  test('finds a job that overtakes one that died later, unless that may have been redriven', () => {
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

  test('does not blame jobs that may have arrived in another order: sent at once, or delayed', () => {
    const second = leased(job('b', 5, grouped), 100, 200, {});
    expect(check([leased(job('a', 0, grouped), 300, 400), second])).toEqual([]);
    const delayed = leased(job('a', 0, { ...grouped, delay_seconds: 0.2 }), 300, 400);
    expect(check([delayed, leased(job('b', 50, grouped), 100, 200, {})])).toEqual([]);
  });

  test('does not blame one after whose lease the other one may have died, or settled late', () => {
    const late = leased(job('a', 0, { ...grouped, max_attempts: 1 }, ended('dead', 900)), 100, 200, {
      verb: 'nack',
      sent: 890,
    });
    expect(check([late, leased(job('b', 50, grouped), 300, 400)])).toEqual([]);
  });
});

describe('the checker of unique keys', () => {
  const keyed = { unique_key: 'k' };
  const check = (lives: Life[], { sweeps = nothing, intents = [] as Intent[] } = {}) =>
    uniqueViolations(lives, intents, sweeps);

  test('finds nothing where a key is taken again after the end of its job', () => {
    expect(check([leased(job('a', 0, keyed), 100, 200, {}), job('b', 195, keyed)])).toEqual([]);
  });

  test('finds a job that was created while another one had its key', () => {
    const first = leased(job('a', 0, keyed), 100, 200, {});
    expect(check([first, job('b', 150, keyed)])).toEqual([expect.stringContaining('had it at once')]);
    expect(check([job('b', 150, keyed), first])).toEqual([expect.stringContaining('had it at once')]);
    expect(check([first, job('b', 150, { unique_key: 'other' })])).toEqual([]);
    expect(check([first, job('b', 150, { ...keyed, queue: 'other' })])).toEqual([]);
  });

  test('finds two that were sent at once and lived at once', () => {
    const first = leased(job('a', 0, keyed), 100, 200, {});
    const second = leased(leased(job('b', 5, keyed), 50, 60, { verb: 'nack' }), 250, 300, {});
    expect(check([first, second])).toEqual([expect.stringContaining('had it at once')]);
  });

  test('does not blame one whose rival may have died before and come back', () => {
    const died = leased(job('a', 0, { ...keyed, max_attempts: 1 }), 100, 200);
    const revived = leased(died, 600, 700, {});
    const second = leased(job('b', 300, keyed), 350, 400, {});
    expect(check([revived, second])).toEqual([expect.stringContaining('had it at once')]);
    expect(check([revived, second], { sweeps: redriven })).toEqual([]);
    expect(check([{ ...revived, retried: 300 }, second])).toEqual([]);
    leased(second, 650, 700);
    expect(check([revived, second], { sweeps: redriven })).toEqual([
      expect.stringContaining('was leased while'),
    ]);
  });

  test('finds a job within the time for which its key was kept, and none after it', () => {
    const first = leased(job('a', 0, { ...keyed, unique_for_seconds: 1 }), 10, 50, {});
    expect(check([first, job('b', 900, keyed)])).toEqual([expect.stringContaining('is kept')]);
    expect(check([first, job('b', 1000, keyed)])).toEqual([]);
  });

  test('finds an answer that names a job that was finished, or has another key', () => {
    const named = leased(job('a', 0, keyed), 100, 200, {});
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
