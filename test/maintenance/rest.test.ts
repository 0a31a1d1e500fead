import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { NextDue } from '../../src/maintenance/nextLook.ts';
import { createRest } from '../../src/maintenance/rest.ts';
import { until } from '../support/until.ts';

const TIMES = { awakeMs: 50, asleepMs: 60_000 };

/** A rest whose due looks find what `next` has, with duties that note when they run. */
function startRest(
  next: () => NextDue[],
  { times = TIMES, hears = (): boolean => true, tell = async (): Promise<unknown> => undefined } = {},
) {
  const looks: number[] = [];
  const ran: string[] = [];
  const told: number[] = [];
  const rest = createRest({
    look: async () => {
      looks.push(performance.now());
      return next();
    },
    tell() {
      told.push(performance.now());
      return tell();
    },
    hears,
    log: (error) => expect.unreachable(String(error)),
    times,
  });
  let woken = 0;
  let lookedAnywhere = 0;
  rest.begin({
    resume: () => {
      woken++;
    },
    runDue: async (name) => void ran.push(name),
    leftMs: (name) => (ran.includes(name) ? 60_000 : 0),
    lookAnywhere: () => {
      lookedAnywhere++;
    },
  });
  stops.push(rest.stop);
  return { rest, looks, ran, told, woken: () => woken, lookedAnywhere: () => lookedAnywhere };
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

  test('lets nothing begin that may make something due, until the others are told', async () => {
    const { rest, told } = startRest(() => []);
    await dozing(rest);
    expect(rest.asked(false)).toBeUndefined();
    const [first, second] = [rest.asked(true), rest.asked(true)];
    expect(first).toBeInstanceOf(Promise);
    expect(second).toBe(first);
    await first;
    expect(told).toHaveLength(1);
    expect(rest.asked(true)).toBeUndefined();
  });

  test('does not tell the others while they hear it from another replica', async () => {
    const { rest, told } = startRest(() => [], { times: { awakeMs: 60_000, asleepMs: 120_000 } });
    rest.heardActive();
    expect(rest.asked(true)).toBeUndefined();
    expect(told).toHaveLength(0);
  });

  test('waits for no more than a second for the others to be told', async () => {
    const never = new Promise<never>(() => undefined);
    const { rest } = startRest(() => [], { tell: () => never });
    await dozing(rest);
    await rest.asked(true);
    expect(rest.asked(true)).toBeUndefined();
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
    rest.heardLook('other', undefined);
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
    rest.heardLook('other', 500);
    const told = performance.now();
    const before = looks.length;
    await until(async () => looks.length > before);
    expect((looks[before] as number) - told).toBeGreaterThanOrEqual(500);
  });

  test('has all that waits look when another replica looks than the one that knew of something due', async () => {
    const { rest, looks, lookedAnywhere } = startRest(() => []);
    await dozing(rest);
    await until(async () => looks.length > 0);
    rest.heardLook('first', 60_000);
    rest.heardLook('second', 0);
    // Nothing was due when the second looked in place of the first.
    rest.heardLook('second', 0);
    expect(lookedAnywhere()).toBe(0);
    // The second may have been killed before it told what it did. The third finds it done, or does it.
    rest.heardLook('third', 0);
    expect(lookedAnywhere()).toBe(1);
    rest.heardLook('third', undefined);
    expect(lookedAnywhere()).toBe(2);
    rest.heardLook('second', undefined);
    expect(lookedAnywhere()).toBe(2);
  });

  test('has all that waits look when it looks in place of one that knew of something due', async () => {
    const { rest, looks, lookedAnywhere } = startRest(() => []);
    await dozing(rest);
    await until(async () => looks.length > 0);
    rest.heardLook('killed', 0);
    expect(lookedAnywhere()).toBe(0);
    await until(async () => lookedAnywhere() === 1);
    expect(rest.leads()).toBe(true);
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
    rest.heardLook('other', 10);
    await until(async () => ran.includes('promote'));
    due = [];
    expect(told).toEqual([]);
    // Whoever asks then waits until the others know of it.
    await sleep(200);
    const telling = rest.asked(false);
    expect(telling).toBeInstanceOf(Promise);
    await telling;
    expect(told).toHaveLength(1);
    expect(rest.isAwake()).toBe(true);
    expect(rest.asked(false)).toBeUndefined();
  });
});
