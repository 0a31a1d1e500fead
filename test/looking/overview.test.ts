import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { drainSeconds } from '../../src/counting/depths.ts';
import { JOB_STATES } from '../../src/job.ts';
import { troublesOf } from '../../src/looking/overview.ts';
import { EVENTS, type PerSecond } from '../../src/verbs/counting.ts';
import { as, speakingAccess } from '../support/access.ts';
import { expectProblem } from '../support/moves.ts';
import { type Service, startService } from '../support/service.ts';
import { until } from '../support/until.ts';

const counts = Object.fromEntries(JOB_STATES.map((state) => [state, 0])) as Record<
  (typeof JOB_STATES)[number],
  number
>;
const rates = Object.fromEntries(EVENTS.map((event) => [event, 0])) as PerSecond;
const calm = {
  name: 'q',
  paused: false,
  max_leased: null,
  max_ready: null,
  alert_after_seconds: 300,
  rates,
  depth: { counts, oldestReadySeconds: null, at: 0 },
};
const deep = (more: Partial<typeof counts>, oldestReadySeconds: number | null = null) => ({
  ...calm.depth,
  counts: { ...counts, ...more },
  oldestReadySeconds,
});

/** The duties count for a fiftieth of the time: what takes a second on a busy machine comes again after 50. */
const SLOW = { withinMs: 170_000 };

test('a queue that shrinks says when it is drained, but not while it is paused; an empty one is', () => {
  const two = deep({ ready: 2 });
  expect(drainSeconds(two, 0.5, false)).toBe(4);
  expect(drainSeconds(two, 0.5, true)).toBeUndefined();
  expect(drainSeconds(calm.depth, undefined, true)).toBe(0);
});

describe('what is wrong with a queue', () => {
  test.each([
    ['nothing', calm, []],
    ['nothing, while nothing is known', { ...calm, rates: undefined, depth: undefined }, []],
    ['jobs become dead', { ...calm, rates: { ...rates, dead: 0.1 } }, ['dead_growing']],
    ['most leases fail', { ...calm, rates: { ...rates, nacked: 3, rescued: 1, acked: 2 } }, ['failing']],
    ['some leases fail', { ...calm, rates: { ...rates, nacked: 1, acked: 2 } }, []],
    ['one lease failed', { ...calm, rates: { ...rates, nacked: 0.02 } }, []],
    ['nobody claims', { ...calm, depth: deep({ ready: 1 }, 61) }, ['nobody_claims']],
    ['a claim came', { ...calm, rates: { ...rates, claimed: 0.1 }, depth: deep({ ready: 1 }, 61) }, []],
    ['a worker is busy', { ...calm, depth: deep({ ready: 1, leased: 1 }, 61) }, []],
    [
      'a job waits too long',
      { ...calm, rates: undefined, depth: deep({ ready: 1 }, 301) },
      ['oldest_too_old'],
    ],
    [
      'a job waits, as it may in this queue',
      { ...calm, rates: undefined, alert_after_seconds: 3600, depth: deep({ ready: 1 }, 3599) },
      [],
    ],
    [
      'a job waits too long for this queue',
      { ...calm, rates: undefined, alert_after_seconds: 30, depth: deep({ ready: 1 }, 31) },
      ['oldest_too_old'],
    ],
    ['a paused queue lets wait', { ...calm, paused: true, depth: deep({ ready: 1 }, 301) }, ['paused']],
    ['it is full', { ...calm, max_ready: 3, depth: deep({ ready: 2, blocked: 1 }) }, ['full']],
    ['all leases are out', { ...calm, max_leased: 2, depth: deep({ leased: 2 }) }, ['max_leased_reached']],
  ])('%s', (_, looked, troubles) => {
    expect(troublesOf(looked)).toEqual(troubles);
  });
});

describe('GET /overview', () => {
  let service: Service;
  beforeAll(async () => {
    service = await startService({ access: speakingAccess(), traceUrl: 'https://t.example/{trace_id}' });
  });
  afterAll(() => service.stop());

  test('counts what the caller may see, shows trouble first, and says who asks', async () => {
    const root = as(service, 'all@*');
    for (const queue of ['mail.a', 'mail.b', 'secret']) await root('POST', '/jobs', { queue });
    await root('POST', '/queues/mail.b/pause');
    const reader = as(service, 'read@mail.*');
    const seen = await until(async () => {
      const { body } = await reader('GET', '/overview');
      return body.complete && body.counts.ready === 2 && body;
    }, SLOW);
    expect(seen.queues.map(({ name }: { name: string }) => name)).toEqual(['mail.b', 'mail.a']);
    expect(seen.queues[0]).toMatchObject({ paused: true, troubles: ['paused'], counts: { ready: 1 } });
    expect(seen).toMatchObject({ total: 2, troubled: 1, trace_url: 'https://t.example/{trace_id}' });
    expect(seen.caller).toMatchObject({ needs_key: true, scopes: ['read'], queues: ['mail.*'] });
    const whole = (await root('GET', '/overview?limit=1&queue=secret')).body;
    expect(whole).toMatchObject({ total: 3, counts: { ready: 3 }, queues: [{ name: 'secret' }] });
    expectProblem(await reader('GET', '/overview?queue=secret'), 403, 'forbidden');
  });

  test('tells rates and the seconds until a queue is drained, once there are two samples', async () => {
    const root = as(service, 'all@*');
    const seen = await until(
      async () => {
        await root('POST', '/jobs/batch', { jobs: [{ queue: 'flow' }, { queue: 'flow' }] });
        const { body } = await root('POST', '/jobs/claim', { queues: ['flow'], limit: 3 });
        const acks = body.jobs.map(({ id, lease_token }: { id: string; lease_token: string }) => ({
          id,
          lease_token,
        }));
        await root('POST', '/jobs/settle', { acks });
        const [flow] = (await root('GET', '/overview?queue=flow')).body.queues;
        return flow?.per_second?.acked > 0 && flow;
      },
      { ...SLOW, everyMs: 300 },
    );
    expect(seen.per_second.enqueued).toBeGreaterThan(0);
    expect(seen.drain_seconds === null || seen.drain_seconds >= 0).toBe(true);
  });
});

describe('queues by a part of their name', () => {
  let service: Service;
  beforeAll(async () => {
    service = await startService();
  });
  afterAll(() => service.stop());

  test('are found page by page; a cursor goes with its filter; nothing in a name is special', async () => {
    for (const queue of ['a.mail', 'b.mail', 'c.mail', 'x-mail', 'other', 'a_b', '..'])
      await service.call('POST', '/jobs', { queue });
    const names = async (query: string) => {
      const { body } = await service.call('GET', `/queues?${query}`);
      return [body.queues.map(({ name }: { name: string }) => name), body.next_cursor];
    };
    const [first, cursor] = await names('name_contains=.mail&limit=2');
    expect(first).toEqual(['a.mail', 'b.mail']);
    expect(await names(`name_contains=.mail&limit=2&cursor=${cursor}`)).toEqual([['c.mail'], null]);
    expect((await service.call('GET', `/queues?limit=2&cursor=${cursor}`)).status).toBe(400);
    expect(await names('name_contains=_')).toEqual([['a_b'], null]);
    expect(await names('name_contains=%25')).toEqual([[], null]);
  });

  test('the names . and .. are reached when they are encoded twice, and nothing else is', async () => {
    await service.call('POST', '/jobs', { queue: '..' });
    expect((await service.call('GET', '/queues/%252E%252e')).body.name).toBe('..');
    expect((await service.call('POST', '/queues/%252e%252e/pause')).body.paused).toBe(true);
    expectProblem(await service.call('GET', '/queues/%252E'), 404, 'queue_not_found');
    const group = await service.call('POST', '/queues/dotted/groups/%252E%252E/pause');
    expect(group.body).toEqual({ queue: 'dotted', group: '..', paused: true });
    for (const name of ['%252E%252E%252E', '%2541', '%25', '%252F'])
      expectProblem(await service.call('GET', `/queues/${name}`), 400, 'invalid_request');
  });
});
