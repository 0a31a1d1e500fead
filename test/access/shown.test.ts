import { expect, test } from 'vitest';
import { createCaller } from '../../src/access/caller.ts';
import { shownBefore } from '../../src/access/shown.ts';

/** Finds the credentials "one" and "two", and notes where it looked. */
function looked() {
  const looks: string[] = [];
  const over = new Set<string>();
  const callers = ['one', 'two'].map((name) => createCaller({ id: name, name }, { scopes: [], queues: [] }));
  const shown = shownBefore((credential) => {
    looks.push(credential);
    const caller = callers.find(({ name }) => name === credential);
    return caller && { use: () => (over.has(credential) ? undefined : caller) };
  }, 16);
  return { looks, over, nameOf: (text: string, connection?: object) => shown(text, connection)?.name };
}

test('a credential that its connection shows again is not looked up again', () => {
  const { looks, nameOf } = looked();
  const [here, there] = [{}, {}];
  expect(['one', 'one', 'one'].map((credential) => nameOf(credential, here))).toEqual(['one', 'one', 'one']);
  expect(looks).toEqual(['one']);
  expect(nameOf('one', there)).toBe('one');
  expect(nameOf('one')).toBe('one');
  expect(looks).toEqual(['one', 'one', 'one']);
});

test('another credential on the same connection is another, whatever it begins with', () => {
  const { nameOf } = looked();
  const connection = {};
  expect(nameOf('one', connection)).toBe('one');
  for (const wrong of ['', 'on', 'ond', 'ones', 'ONE', 'öne', 'one\0'])
    expect(nameOf(wrong, connection)).toBeUndefined();
  expect(['one', 'two', 'one'].map((credential) => nameOf(credential, connection))).toEqual([
    'one',
    'two',
    'one',
  ]);
});

test('a credential that is over is looked up, and not found', () => {
  const { looks, over, nameOf } = looked();
  const connection = {};
  expect(nameOf('one', connection)).toBe('one');
  over.add('one');
  expect(nameOf('one', connection)).toBeUndefined();
  expect(looks).toEqual(['one', 'one']);
});
