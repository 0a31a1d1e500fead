import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { recordGroups } from '../support/groupHistory.ts';
import { type Lease, recordHistory } from '../support/history.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const job = (id: string) => ({
  id,
  queue: 'q',
  group: 'g',
  state: 'blocked',
  run_at: '',
  max_attempts: 1000,
});

/** The history of one group. Times are in milliseconds. */
function story() {
  const groups = recordGroups();
  const history = recordHistory();
  return {
    groups,
    came: (id: string, sent: number, answered: number) => groups.enqueued(job(id), sent, answered),
    /** A lease of one second. */
    leased(id: string, at: number, more: object = {}): Lease {
      vi.setSystemTime(at);
      const lease = history.leased(
        { id, lease_token: '', deliveries: 1, lease_expires_at: new Date(at + 1000).toISOString() },
        1,
      );
      groups.leased({ ...job(id), ...more }, lease);
      return lease;
    },
    done: (lease: Lease, at: number) => history.settled(lease, 'ack', at, 'done'),
  };
}

describe('the checker of groups', () => {
  test('accepts jobs that are leased one after the other', () => {
    const { groups, came, leased, done } = story();
    came('a', 0, 10);
    came('b', 20, 30);
    done(leased('a', 100), 200);
    done(leased('b', 300), 400);
    expect(groups.violations()).toEqual([]);
    expect(groups.leases()).toBe(2);
  });

  test('finds two jobs that are leased at once', () => {
    const { groups, leased, done } = story();
    const a = leased('a', 100);
    done(leased('b', 150), 200);
    done(a, 300);
    expect(groups.violations()).toEqual(['group q g: jobs a and b were leased at once']);
  });

  test('finds a job that is leased before an earlier one', () => {
    const { groups, came, leased, done } = story();
    came('a', 0, 10);
    came('b', 20, 30);
    done(leased('b', 100, { max_attempts: 1 }), 200);
    done(leased('a', 300, { max_attempts: 1 }), 400);
    expect(groups.violations()).toEqual([
      'group q g: job b was claimed before job a, which had come before it',
    ]);
  });

  test('accepts it of a job that may have died of a claim without an answer, and of no other', () => {
    const { groups, came, leased, done } = story();
    came('a', 0, 10);
    came('b', 20, 30);
    came('c', 40, 50);
    vi.setSystemTime(60);
    groups.lostClaim();
    done(leased('c', 100), 200);
    done(leased('b', 300), 400);
    done(leased('a', 500, { max_attempts: 1 }), 600);
    expect(groups.violations()).toEqual([
      'group q g: job c was claimed before job b, which had come before it',
    ]);
  });

  test('finds a job that is leased between two leases of another, unless that one may have been dead', () => {
    const { groups, leased, done } = story();
    done(leased('a', 100), 200);
    done(leased('b', 300), 400);
    done(leased('a', 500), 600);
    expect(groups.violations()).toEqual([
      'group q g: job b was claimed while job a was the head of the group',
    ]);
    groups.mayDie('a');
    expect(groups.violations()).toEqual([]);
  });

  test('accepts any order of jobs that came at the same time, or whose delay was over later', () => {
    const { groups, came, leased, done } = story();
    came('a', 0, 30);
    came('b', 20, 40);
    const late = { ...job('c'), state: 'scheduled', run_at: new Date(50).toISOString() };
    groups.enqueued(late, 0, 10);
    done(leased('b', 100), 110);
    done(leased('a', 120), 130);
    done(leased('c', 140), 150);
    expect(groups.violations()).toEqual([]);
  });
});
