import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { createRareLog } from '../../src/rareLog.ts';

let lines: [string, number][];
let log: (line: string) => void;
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance'] });
  lines = [];
  log = createRareLog(
    (line: string) => line,
    (line, times) => lines.push([line, times]),
  );
});
afterEach(() => {
  vi.useRealTimers();
});

describe('a rare log', () => {
  test('has one line for equal things in 10 s, and the next one counts the others', () => {
    for (let i = 0; i < 1000; i++) log('a');
    log('b');
    expect(lines).toEqual([
      ['a', 1],
      ['b', 1],
    ]);
    vi.advanceTimersByTime(10_000);
    log('a');
    log('b');
    expect(lines.slice(2)).toEqual([
      ['a', 1000],
      ['b', 1],
    ]);
  });

  test('remembers a bounded number of things, whatever comes', () => {
    log('first');
    for (let i = 0; i < 50; i++) log(`other ${i}`);
    log('first');
    expect(lines.filter(([line]) => line === 'first')).toHaveLength(2);
  });
});
