import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { TestModule, TestSpecification } from 'vitest/node';
import { progress } from '../support/progress.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const file = (relativeModuleId: string, ok = true) =>
  ({ relativeModuleId, ok: () => ok }) as unknown as TestModule;

test('a run of the tests says after each file how far it is, and what it waits for when it is quiet', () => {
  const said: string[] = [];
  const { onTestRunStart, onTestModuleStart, onTestModuleEnd, onTestRunEnd } = progress((line) =>
    said.push(line.replace(/^\[\d+:\d\d\] /, '')),
  );
  onTestRunStart?.(Array.from({ length: 3 }, () => ({}) as TestSpecification));
  for (const name of ['a', 'b', 'c']) onTestModuleStart?.(file(name));
  onTestModuleEnd?.(file('a'));
  onTestModuleEnd?.(file('b', false));
  vi.advanceTimersByTime(60_000);
  expect(said.slice(0, 2)).toEqual(['1 of 3 files. Ended: a', '2 of 3 files, 1 failed. Ended: b']);
  expect(said.slice(2)).toEqual(Array(3).fill('2 of 3 files, 1 failed. Running: c'));
  onTestModuleEnd?.(file('c'));
  onTestRunEnd?.([], [], 'passed');
  const before = said.length;
  vi.advanceTimersByTime(600_000);
  expect(said).toHaveLength(before);
});
