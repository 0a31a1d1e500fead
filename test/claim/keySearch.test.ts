import { expect, test } from 'vitest';
import { createKeySearch } from '../../src/claim/keySearch.ts';

function searchAt(ms: number) {
  const clock = { ms };
  return { clock, search: createKeySearch(() => clock.ms) };
}

test('the first walk has a time limit of its own, and those behind a quick one have none', () => {
  const { clock, search } = searchAt(0);
  expect(search.way()).toBe('limited walk');
  expect(search.took(3, 1)).toBe(true);
  clock.ms = 1900;
  expect(search.way()).toBe('walk');
  clock.ms = 2100;
  expect(search.way()).toBe('limited walk');
});

test('after a walk that ran into its time limit, claims take the front of the queue, and then one of them walks', () => {
  const { clock, search } = searchAt(0);
  search.took(3, 1);
  search.failed();
  expect(search.way()).toBe('front');
  clock.ms = 9900;
  expect(search.way()).toBe('front');
  clock.ms = 10_100;
  expect(search.way()).toBe('limited walk');
  expect(search.took(90, 1)).toBe(false);
  expect(search.way()).toBe('front');
  clock.ms = 20_200;
  expect(search.took(3, 1)).toBe(true);
  expect(search.way()).toBe('walk');
});

test('one slow walk changes nothing but that the next has a time limit. Three in a row are enough', () => {
  const { search } = searchAt(0);
  for (const ms of [90, 90, 3, 90, 90]) search.took(ms, 1);
  expect(search.way()).toBe('limited walk');
  search.took(90, 1);
  expect(search.way()).toBe('front');
});

test('a claim of many jobs may walk longer', () => {
  const { search } = searchAt(0);
  expect(search.took(200, 1000)).toBe(true);
  expect(search.took(200, 1)).toBe(false);
  expect(search.limitMs(1000)).toBeGreaterThan(search.limitMs(1));
});
