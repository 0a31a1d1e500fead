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

test('where the walk is dear and the front holds all jobs, claims take the front, and one of them walks every 10 s', () => {
  const { clock, search } = searchAt(0);
  for (let i = 0; i < 3; i++) expect(search.took(20, 1)).toBe(false);
  expect(search.way()).toBe('front');
  search.tookFront(4, true);
  clock.ms = 9900;
  expect(search.way()).toBe('front');
  clock.ms = 10_100;
  expect(search.way()).toBe('limited walk');
  search.took(20, 1);
  expect(search.way()).toBe('front');
  clock.ms = 20_200;
  expect(search.took(1, 1)).toBe(true);
  expect(search.way()).toBe('walk');
});

test('where the front holds only some of the jobs, or takes longer than the walk, claims walk again. They try it every 10 s', () => {
  for (const [ms, holdsAll] of [
    [4, false],
    [30, true],
  ] as const) {
    const { clock, search } = searchAt(0);
    for (let i = 0; i < 3; i++) search.took(20, 1);
    expect(search.way()).toBe('front');
    search.tookFront(ms, holdsAll);
    expect(search.way()).toBe('walk');
    for (let i = 0; i < 5; i++) search.took(20, 1);
    expect(search.way()).toBe('walk');
    clock.ms = 10_100;
    search.took(20, 1);
    expect(search.way()).toBe('front');
  }
});

test('a walk that found no job is not taken for a dear one: its time has all waits in it', () => {
  const { search } = searchAt(0);
  for (let i = 0; i < 5; i++) expect(search.took(20, 1, false)).toBe(true);
  expect(search.way()).toBe('walk');
  search.took(20, 1);
  expect(search.took(1, 1, false)).toBe(false);
  expect(search.took(1, 1)).toBe(true);
});

test('after slow walks claims stay at the front, whatever it holds', () => {
  const { search } = searchAt(0);
  search.failed();
  search.tookFront(200, false);
  expect(search.way()).toBe('front');
});
