import { describe, expect, test } from 'vitest';
import { errorText, messageOf } from '../../clients/typescript/src/errorText.ts';

const stackless = (error: Error) => Object.assign(error, { stack: '' });

test('an error is told with its causes in its first line, and its stack below', () => {
  const error = new TypeError('fetch failed', { cause: new Error('connect ECONNREFUSED 127.0.0.1:1') });
  const [line, ...stack] = errorText(error).split('\n');
  expect(line).toBe('TypeError: fetch failed: connect ECONNREFUSED 127.0.0.1:1');
  expect(stack.length).toBeGreaterThan(1);
  expect(stack.every((one) => /^\s+at /.test(one))).toBe(true);
});

test('an error of a million line breaks is told without delay', () => {
  const error = new Error(`${'\n'.repeat(2 ** 20)}end`);
  expect(errorText(error)).toMatch(/^Error: \n+…\n +at /);
});

describe('causes', () => {
  test.each<[string, unknown, string]>([
    ['of a group stand side by side', new AggregateError([new Error('a'), new Error('b')], ''), 'a; b'],
    ['that are in the text already are not said again', new Error('x: y', { cause: new Error('y') }), 'x: y'],
    ['may be of any kind', new Error('x', { cause: 'a text' }), 'x: a text'],
    ['may be objects', new Error('x', { cause: { code: 'E_GONE' } }), 'x: {"code":"E_GONE"}'],
    ['may be nothing', new Error('x', { cause: undefined }), 'x'],
    [
      'without a text are passed over',
      new Error('x', { cause: new Error('', { cause: 'root' }) }),
      'x: root',
    ],
  ])('%s', (_, error, message) => {
    expect(messageOf(error)).toBe(message);
  });

  test('of causes in groups are bounded all together', () => {
    let error = new Error('leaf');
    for (let i = 0; i < 50; i++)
      error = new AggregateError([error, error, new Error(`side ${i}`)], `level ${i}`);
    expect(messageOf(error).length).toBeLessThan(500);
  });
});

test.each<[unknown, string]>([
  [undefined, 'undefined'],
  [null, 'null'],
  ['', 'a value that has no text'],
  ['  ', 'a value that has no text'],
  [{}, '{}'],
  [stackless(new Error('')), 'Error'],
  [Object.create(null), '{}'],
  [Object.assign(Object.create(null), { code: 'E_PARSED' }), '{"code":"E_PARSED"}'],
  ['half \ud83d and \0', 'half \uFFFD and \uFFFD'],
])('whatever is thrown has a text: %j', (thrown, text) => {
  expect(errorText(thrown)).toBe(text);
});
