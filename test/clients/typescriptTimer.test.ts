import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { after } from '../../clients/typescript/src/timer.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test.each([1, 2 ** 31 - 1, 2 ** 31, 2_592_000_000, 2 ** 33])(
  'a timer of %i ms fires then, and not before',
  (ms) => {
    const act = vi.fn();
    after(ms, act);
    vi.advanceTimersByTime(ms - 1);
    expect(act).not.toHaveBeenCalled();
    vi.advanceTimersByTime(1);
    expect(act).toHaveBeenCalledOnce();
  },
);

test('a timer for ever never fires, and keeps no process alive', () => {
  after(Number.POSITIVE_INFINITY, () => undefined);
  expect(vi.getTimerCount()).toBe(0);
});

test('a long timer that is cleared in its second part does not fire', () => {
  const act = vi.fn();
  const timer = after(2 ** 32, act);
  vi.advanceTimersByTime(2 ** 31 + 5);
  timer.clear();
  vi.advanceTimersByTime(2 ** 33);
  expect(act).not.toHaveBeenCalled();
});
