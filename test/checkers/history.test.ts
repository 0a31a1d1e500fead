import { describe, expect, test } from 'vitest';
import { recordHistory } from '../support/history.ts';

const at = (ms: number) => new Date(ms).toISOString();
const claimed = (deliveries: number, expires: number) => ({
  id: 'job',
  lease_token: `token ${deliveries}`,
  deliveries,
  lease_expires_at: at(expires),
});
const none = new Set<string>();

describe('the checker of histories', () => {
  test('finds nothing in a life with an expiry, an extension, a nack, a release and an ack', () => {
    const history = recordHistory();
    history.enqueued('job');
    history.leased(claimed(1, 1000), 1);
    const second = history.leased(claimed(2, 2100), 1);
    history.extended(second, 1500, 'done', at(2500));
    history.settled(second, 'nack', 2400, 'done');
    const third = history.leased(claimed(3, 3410), 1);
    history.settled(third, 'release', 2450, 'unknown');
    history.settled(history.leased(claimed(4, 3460), 1), 'ack', 2470, 'done');
    expect(history.violations(none)).toEqual([]);
  });

  test('finds a job that is gone although no ack was answered', () => {
    const history = recordHistory();
    history.enqueued('job');
    history.settled(history.leased(claimed(1, 1000), 1), 'ack', 500, 'refused');
    expect(history.violations(none)).toEqual([expect.stringContaining('is lost')]);
    expect(history.violations(new Set(['job']))).toEqual([]);
  });

  test('accepts that a job is gone after an unanswered ack, or a cancel', () => {
    const history = recordHistory();
    history.enqueued('job');
    history.settled(history.leased(claimed(1, 1000), 1), 'ack', 500, 'unknown');
    history.enqueued('other');
    history.cancelled('other');
    expect(history.violations(none)).toEqual([]);
  });

  test('finds two leases that run at once', () => {
    const history = recordHistory();
    history.leased(claimed(1, 1000), 1);
    history.leased(claimed(2, 1900), 1);
    expect(history.violations(none)).toEqual([expect.stringContaining('ran at once')]);
  });

  test('finds a lease within one that was extended, or whose nack was refused', () => {
    const extended = recordHistory();
    extended.extended(extended.leased(claimed(1, 1000), 1), 500, 'done', at(3000));
    extended.leased(claimed(2, 3500), 1);
    expect(extended.violations(none)).toEqual([expect.stringContaining('ran at once')]);
    const refused = recordHistory();
    refused.settled(refused.leased(claimed(1, 1000), 1), 'nack', 100, 'refused');
    refused.leased(claimed(2, 1500), 1);
    expect(refused.violations(none)).toEqual([expect.stringContaining('ran at once')]);
  });

  test('accepts a lease that is computed from before the end of the last one, but was answered after it', () => {
    const history = recordHistory();
    const released = history.leased(claimed(1, 1000), 1, 10);
    history.settled(released, 'release', 500, 'done', 510);
    history.leased(claimed(2, 1450), 1, 520);
    expect(history.violations(none)).toEqual([]);
    history.leased(claimed(3, 2000), 1, 1440);
    expect(history.violations(none)).toEqual([expect.stringContaining('ran at once')]);
  });

  test('accepts a lease after a call whose outcome is unknown', () => {
    const history = recordHistory();
    history.extended(history.leased(claimed(1, 10_000), 10), 500, 'unknown');
    history.settled(history.leased(claimed(2, 10_600), 10), 'release', 700, 'unknown');
    history.leased(claimed(3, 10_800), 10);
    expect(history.violations(none)).toEqual([]);
  });

  test('finds a delivery after an answered ack, and a job that still exists after it', () => {
    const history = recordHistory();
    history.settled(history.leased(claimed(1, 1000), 1), 'ack', 500, 'done');
    expect(history.violations(new Set(['job']))).toEqual([expect.stringContaining('still there')]);
    history.leased(claimed(2, 2000), 1);
    expect(history.violations(none)).toEqual([expect.stringContaining('its ack was answered before')]);
  });

  test('finds a fencing number that is used twice, or gets smaller', () => {
    const twice = recordHistory();
    twice.leased(claimed(1, 1000), 1);
    twice.leased(claimed(1, 2000), 1);
    expect(twice.violations(none)).toEqual([expect.stringContaining('did not grow')]);
    const back = recordHistory();
    back.leased(claimed(2, 1000), 1);
    back.leased(claimed(1, 2000), 1);
    expect(back.violations(none)).toContainEqual(expect.stringContaining('used earlier'));
  });

  test('finds a stale token that settled a job', () => {
    const history = recordHistory();
    const stale = history.leased(claimed(1, 1000), 1);
    history.leased(claimed(2, 2000), 1);
    history.settled(stale, 'nack', 1500, 'done');
    expect(history.violations(none)).toEqual([expect.stringContaining('settled after')]);
  });
});
