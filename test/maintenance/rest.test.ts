import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { NextDue } from '../../src/maintenance/nextLook.ts';
import { createRest } from '../../src/maintenance/rest.ts';
import { until } from '../support/until.ts';

const TIMES = { awakeMs: 50, asleepMs: 60_000 };

/** A rest whose due looks find what `next` has, with duties that note when they run. */
function startRest(next: () => NextDue[], { times = TIMES, hears = (): boolean => true } = {}) {
  const looks: number[] = [];
  const ran: string[] = [];
  const told: number[] = [];
  const rest = createRest({
    look: async () => {
      looks.push(performance.now());
      return next();
    },
    tell: async () => told.push(performance.now()),
    hears,
    log: (error) => expect.unreachable(String(error)),
    times,
  });
  let woken = 0;
  rest.begin({
    resume: () => {
      woken++;
    },
    runDue: async (name) => void ran.push(name),
    leftMs: (name) => (ran.includes(name) ? 60_000 : 0),
  });
  stops.push(rest.stop);
  return { rest, looks, ran, told, woken: () => woken };
}

let stops: (() => Promise<void>)[] = [];
beforeEach(() => {
  stops = [];
});
afterEach(async () => {
  for (const stop of stops) await stop();
});

const dozing = (rest: { isAwake(): boolean }) => until(async () => !rest.isAwake());

describe('a replica at which nothing is done', () => {
  test('dozes: it looks for what is due, and runs only that', async () => {
    const { rest, ran, looks } = startRest(() => [
      { duty: 'rescue', in_ms: -5 },
      { duty: 'promote', in_ms: 60_000 },
    ]);
    await dozing(rest);
    await until(async () => looks.length >= 2);
    expect(ran).toEqual(['rescue']);
    expect(rest.isAwake()).toBe(false);
  });

  test('is awake again when something is done here, and tells the others', async () => {
    const { rest, told, woken } = startRest(() => []);
    await dozing(rest);
    rest.active();
    expect(rest.isAwake()).toBe(true);
    expect(woken()).toBe(1);
    expect(told).toHaveLength(1);
  });

  test('is awake again when another replica does something', async () => {
    const { rest, told } = startRest(() => []);
    await dozing(rest);
    rest.heardActive();
    expect(rest.isAwake()).toBe(true);
    expect(told).toHaveLength(0);
  });

  test('does not doze while notifications are not heard', async () => {
    let heard = true;
    const { rest, looks } = startRest(() => [], { hears: () => heard });
    await dozing(rest);
    heard = false;
    await until(async () => rest.isAwake());
    const before = looks.length;
    // What a look sends shows whether they arrive again.
    await until(async () => looks.length > before);
    expect(rest.isAwake()).toBe(true);
    heard = true;
    await dozing(rest);
  });

  test('leaves the look to another replica that has looked a moment ago', async () => {
    const { rest, looks } = startRest(() => []);
    await dozing(rest);
    rest.heardLook(undefined);
    const before = looks.length;
    await sleep(500);
    expect(looks.length).toBe(before);
    expect(rest.leads()).toBe(false);
    // The other replica tells nothing any more. It may have been killed.
    await until(async () => looks.length > before);
    expect(rest.leads()).toBe(true);
  });

  test('looks when something is due that another replica has told of', async () => {
    const { rest, looks } = startRest(() => []);
    await dozing(rest);
    rest.heardLook(500);
    const told = performance.now();
    const before = looks.length;
    await until(async () => looks.length > before);
    expect((looks[before] as number) - told).toBeGreaterThanOrEqual(500);
  });

  test('sends nothing when nobody has asked for long, but for what it knows to be due', async () => {
    let due: NextDue[] = [];
    const began = performance.now();
    const { rest, looks, ran, told } = startRest(() => due, { times: { awakeMs: 50, asleepMs: 100 } });
    await dozing(rest);
    await until(async () => performance.now() > began + 1000);
    const before = looks.length;
    await sleep(3000);
    expect(looks.length).toBe(before);
    due = [{ duty: 'promote', in_ms: -1 }];
    rest.heardLook(10);
    await until(async () => ran.includes('promote'));
    due = [];
    expect(told).toEqual([]);
    // Whoever asks then waits until the others know of it.
    await sleep(200);
    await expect(rest.asked()).resolves.toBeDefined();
    expect(told).toHaveLength(1);
    expect(rest.isAwake()).toBe(true);
    expect(rest.asked()).toBeUndefined();
  });
});
