import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createOutageLog } from '../../src/postgres/outageLog.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test('half a second after the last call that failed, a database is asked again; the outage ends when it is calm', () => {
  const lines: string[] = [];
  const log = createOutageLog({ warn: (line) => lines.push(line), info: (line) => lines.push(line) });
  const servedAfter = (ms: number) => {
    vi.advanceTimersByTime(ms);
    log.served();
    return { isAway: log.isAway(), isDown: log.isDown() };
  };
  expect(servedAfter(0)).toEqual({ isAway: false, isDown: false });
  log.failed(new Error('refused'));
  expect(servedAfter(499)).toEqual({ isAway: true, isDown: true });
  log.failed(new Error('refused'));
  expect(servedAfter(499)).toEqual({ isAway: true, isDown: true });
  expect(servedAfter(1)).toEqual({ isAway: false, isDown: true });
  expect(servedAfter(4499)).toEqual({ isAway: false, isDown: true });
  expect(lines).toEqual(['the database cannot serve: refused']);
  expect(servedAfter(1)).toEqual({ isAway: false, isDown: false });
  expect(lines).toEqual(['the database cannot serve: refused', 'the database serves again']);
});
