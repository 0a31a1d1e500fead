import { describe, expect, test } from 'vitest';
import { expiryViolations, fateViolations, intentViolations } from './support/checks/fates.ts';
import { groupViolations } from './support/checks/groups.ts';
import { limitViolations } from './support/checks/limits.ts';
import { uniqueViolations } from './support/checks/unique.ts';
import type { Lease } from './support/history.ts';
import type { Intent, Life, Spec, Sweeps } from './support/life.ts';

const NEVER = Number.POSITIVE_INFINITY;
const nothing: Sweeps = { redrives: [], purges: [] };
const redriven: Sweeps = { redrives: [{ queue: 'q', answered: 50_000 }], purges: [] };

let tag = 0;

/** A job enqueued within 10 ms from `sent` on. */
function job(id: string, sent: number, spec: Partial<Spec> = {}, more: Partial<Life> = {}): Life {
  const intent: Intent = {
    spec: { queue: 'q', payload: { tag: ++tag }, max_attempts: 5, ...spec },
    request: tag,
    index: 0,
    sent,
    answered: sent + 10,
    outcome: 'done',
    jobs: new Set([id]),
  };
  return { id, intent, created: sent + 5, leases: [], cancels: [], retried: NEVER, ...more };
}

/** A lease of a job, answered within 10 ms from `start` on. */
function leased(life: Life, start: number, until: number, settled?: Partial<Lease['settled']>): Life {
  const deliveries = life.leases.length + 1;
  const lease: Lease = { job: life.id, token: '', deliveries, start, taken: start + 10, until };
  if (settled)
    lease.settled = { verb: 'ack', sent: until, outcome: 'done', answered: until + 10, ...settled };
  life.leases.push(lease);
  return life;
}

const ended = (state: string, finished = Number.NEGATIVE_INFINITY): Partial<Life> => ({
  found: { state, finished, deliveries: 1, last_error: null },
});

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

describe('the checker of limits', () => {
  test('finds more leases at once than may be, counting only those that ran for certain', () => {
    const check = (max_leased: number, lives: Life[]) => limitViolations(lives, { q: { max_leased } });
    const lives = [100, 150, 250].map((start, i) => leased(job(`${i}`, 0), start, start + 100));
    expect(check(2, lives)).toEqual([]);
    expect(check(1, lives)).toEqual([expect.stringContaining('2 leases ran at once')]);
    expect(check(1, [leased(job('a', 0), 100, 200), leased(job('b', 0), 195, 300)])).toEqual([]);
    expect(limitViolations(lives, { other: { max_leased: 1 } })).toEqual([]);
  });

  test('finds more claims within a window than may be', () => {
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
    const purged = (answered: number) => ({ redrives: [], purges: [{ queue: 'q', answered }] });
    expect(check(job('a', 5), { sweeps: purged(9) })).toEqual([]);
    expect(check(job('a', 5), { sweeps: purged(1) })).toHaveLength(1);
  });

  test('finds a job that is gone from a queue that keeps what is finished', () => {
    const acked = leased(job('a', 0), 1, 2, {});
    expect(check(acked, { keeps: true })).toEqual([expect.stringContaining('is not kept')]);
    expect(check({ ...acked, ...ended('completed') }, { keeps: true })).toEqual([]);
  });

  test('finds an end that nobody gave the job', () => {
    expect(check(job('a', 0, {}, ended('completed')))).toHaveLength(1);
    expect(check(job('a', 0, {}, ended('cancelled')))).toHaveLength(1);
    expect(check(job('a', 0, {}, ended('dead')))).toEqual([expect.stringContaining('too early')]);
    expect(check(job('a', 0, { max_attempts: 1 }, ended('dead')))).toEqual([]);
    expect(check(job('a', 0, { expires_in_seconds: 1 }, ended('dead')))).toEqual([]);
    const buried = { sent: 0, answered: 1 };
    expect(check(job('a', 0, {}, { ...ended('dead'), buried }))).toEqual([]);
  });

  test('finds a job that outlives its ack, and one that is stuck', () => {
    const acked = leased(job('a', 0, { max_attempts: 1 }, ended('dead')), 1, 2, {});
    expect(check(acked)).toEqual([expect.stringContaining('after its ack')]);
    for (const state of ['ready', 'blocked', 'leased', 'scheduled'])
      expect(check(job('a', 0, {}, ended(state)))).toEqual([expect.stringContaining('stuck')]);
  });

  test('finds what is there twice, or though it was refused', () => {
    const intent = job('a', 0).intent;
    expect(intentViolations([intent])).toEqual([]);
    expect(intentViolations([{ ...intent, jobs: new Set(['a', 'b']) }])).toHaveLength(1);
    expect(intentViolations([{ ...intent, outcome: 'refused' }])).toHaveLength(1);
    expect(intentViolations([{ ...intent, outcome: 'deduplicated' }])).toHaveLength(1);
    expect(intentViolations([{ ...intent, outcome: 'unknown' }])).toEqual([]);
  });

  test('finds a job that is handed out after its expiry, unless it was redriven', () => {
    const check = (start: number, sweeps = nothing) =>
      expiryViolations([leased(job('a', 0, { expires_in_seconds: 1 }), start, start + 100)], sweeps);
    expect(check(1005)).toEqual([]);
    expect(check(1011)).toEqual([expect.stringContaining('after it had expired')]);
    expect(check(1011, redriven)).toEqual([]);
  });
});
