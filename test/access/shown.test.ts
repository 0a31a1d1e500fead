import { expect, test } from 'vitest';
import { shownBefore } from '../../src/access/shown.ts';
import { createCaller } from '../../src/caller.ts';

const NEVER = 'xxx';

/** Finds the credentials "one" and "two", and notes where it looked. */
function looked() {
  const looks: string[] = [];
  const over = new Set<string>();
  const callers = ['one', 'two'].map((name) => createCaller({ id: name, name }, { scopes: [], queues: [] }));
  const shown = shownBefore(
    (credential) => {
      looks.push(credential);
      const caller = callers.find(({ name }) => name === credential);
      return caller && { use: () => (over.has(credential) ? undefined : caller) };
    },
    { never: NEVER, longest: 1000 },
  );
  return { looks, over, nameOf: (text: string, place?: object | string) => shown(text, place)?.name };
}

test.each([
  ['its connection', {}, {}],
  ['its id', 'a', 'b'],
])('a credential that is shown again at %s is not looked up again', (_, here, there) => {
  const { looks, nameOf } = looked();
  expect(['one', 'one', 'one'].map((credential) => nameOf(credential, here))).toEqual(['one', 'one', 'one']);
  expect(looks).toEqual(['one']);
  expect(nameOf('one', there)).toBe('one');
  expect(nameOf('one')).toBe('one');
  expect(looks).toEqual(['one', 'one', 'one']);
});

test.each([{}, 'a'])(
  'another credential at the same place is another, whatever it begins with: %o',
  (connection) => {
    const { nameOf } = looked();
    expect(nameOf('one', connection)).toBe('one');
    for (const wrong of ['', 'on', 'ond', 'ones', 'ONE', 'öne', 'one\0'])
      expect(nameOf(wrong, connection)).toBeUndefined();
    expect(['one', 'two', 'one'].map((credential) => nameOf(credential, connection))).toEqual([
      'one',
      'two',
      'one',
    ]);
  },
);

test('a long credential is compared to its end', () => {
  const long = 'one'.repeat(100);
  const found = createCaller({ id: 'long', name: 'long' }, { scopes: [], queues: [] });
  let looks = 0;
  const shown = shownBefore(
    (credential) => {
      looks++;
      return credential === long ? { use: () => found } : undefined;
    },
    { never: NEVER, longest: 1000 },
  );
  const connection = {};
  expect([shown(long, connection), shown(long, connection)]).toEqual([found, found]);
  expect(looks).toBe(1);
  expect(shown(`${long.slice(0, -1)}E`, connection)).toBeUndefined();
});

test('the credential that nobody has is nobody', () => {
  const { nameOf } = looked();
  expect([nameOf(NEVER, 'a'), nameOf(NEVER, {})]).toEqual([undefined, undefined]);
});

test('a credential that is over is looked up, and not found', () => {
  const { looks, over, nameOf } = looked();
  const connection = {};
  expect(nameOf('one', connection)).toBe('one');
  over.add('one');
  expect(nameOf('one', connection)).toBeUndefined();
  expect(looks).toEqual(['one', 'one']);
});
