import { expect, test } from 'vitest';
import { shownBefore } from '../../src/access/shown.ts';

const GOOD = ['one', 'two'];

function looked() {
  const looks: string[] = [];
  const over = new Set<string>();
  const isGood = (found: string) => !over.has(found);
  const find = (credential: string) => {
    looks.push(credential);
    return GOOD.includes(credential) && isGood(credential) ? credential : undefined;
  };
  return { looks, over, shown: shownBefore(find, isGood) };
}

test('a credential that its connection shows again is not looked up again', () => {
  const { looks, shown } = looked();
  const [here, there] = [{}, {}];
  expect(['one', 'one', 'one'].map((credential) => shown(credential, here))).toEqual(['one', 'one', 'one']);
  expect(looks).toEqual(['one']);
  expect(shown('one', there)).toBe('one');
  expect(shown('one', undefined)).toBe('one');
  expect(looks).toEqual(['one', 'one', 'one']);
});

test('another credential on the same connection is another, whatever it begins with', () => {
  const { shown } = looked();
  const connection = {};
  expect(shown('one', connection)).toBe('one');
  for (const wrong of ['', 'on', 'ond', 'ones', 'ONE', 'öne', 'one\0'])
    expect(shown(wrong, connection)).toBeUndefined();
  expect(['one', 'two', 'one'].map((credential) => shown(credential, connection))).toEqual([
    'one',
    'two',
    'one',
  ]);
});

test('what is over is looked up, and not found', () => {
  const { looks, over, shown } = looked();
  const connection = {};
  expect(shown('one', connection)).toBe('one');
  over.add('one');
  expect(shown('one', connection)).toBeUndefined();
  expect(looks).toEqual(['one', 'one']);
});
