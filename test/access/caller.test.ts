import fc from 'fast-check';
import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { ANYBODY, type Caller, createCaller, isQueuePattern, SCOPES } from '../../src/caller.ts';
import { openClient } from '../support/database.ts';

const callerFor = (
  queues: string[],
  scopes: Caller['may'] extends (s: infer S) => boolean ? S[] : never = [],
) => createCaller({ id: 'k', name: 'k' }, { scopes, queues });

const mayUse = (pattern: string, queue: string) => callerFor([pattern]).mayUse(queue);

describe('a queue pattern', () => {
  test.each([
    ['mail', 'mail', true],
    ['mail', 'mail.x', false],
    ['mail', 'mai', false],
    ['mail', 'Mail', false],
    ['mail.*', 'mail.x', true],
    ['mail.*', 'mail.x.y', true],
    ['mail.*', 'mail.', true],
    ['mail.*', 'mail', false],
    ['mail.*', 'mailx', false],
    ['mail.*', 'MAIL.x', false],
    ['mail.*', 'xmail.x', false],
    ['a_b', 'a_b', true],
    ['a_b', 'axb', false],
    ['a_*', 'axb', false],
    ['a*', 'a', true],
    ['a*', 'abc', true],
    ['a*', 'ba', false],
    ['*', 'anything:at-all', true],
  ])('%s at the queue %s: %s', (pattern, queue, expected) => {
    expect(mayUse(pattern, queue)).toBe(expected);
  });

  test('that is no pattern allows only the queue of exactly that name, which no queue has', () => {
    for (const pattern of ['%', 'ma%', 'mai_', '', 'a*b', '**', '*a', '\\', '.*\n'])
      for (const queue of ['mail', 'maix', 'a', 'ab', 'axb', 'default'])
        expect({ pattern, queue, may: mayUse(pattern, queue) }).toEqual({ pattern, queue, may: false });
  });

  test('is checked where keys are made', () => {
    for (const pattern of ['mail', 'mail.*', '*', 'a_b:c-d.E', 'x'.repeat(128), `${'x'.repeat(127)}*`])
      expect({ pattern, is: isQueuePattern(pattern) }).toEqual({ pattern, is: true });
    for (const pattern of ['', '%', 'a%', '**', '*a', 'a*b', 'mail\n', '\nmail', 'ä', 'a b', 'x'.repeat(129)])
      expect({ pattern, is: isQueuePattern(pattern) }).toEqual({ pattern, is: false });
  });
});

describe('the patterns of lists', () => {
  let client: pg.Client;
  beforeAll(async () => {
    client = await openClient(inject('postgresUrl'));
  });
  afterAll(() => client.end());

  /** Few letters, so that names and patterns meet. Some texts are no patterns: a token may bring them. */
  const text = fc.string({ unit: fc.constantFrom(...'aAb._%*\\-:'), minLength: 0, maxLength: 5 });

  test('show exactly the queues that the caller may use', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(text, { maxLength: 3 }),
        fc.array(text, { minLength: 1, maxLength: 20 }),
        async (patterns, names) => {
          const caller = callerFor(patterns);
          const { rows } = await client.query<{ name: string; shown: boolean }>(
            'select name, $2::text[] is null or name like any ($2) as shown from unnest($1::text[]) as name',
            [names, caller.visible ?? null],
          );
          expect(rows).toEqual(names.map((name) => ({ name, shown: caller.mayUse(name) })));
        },
      ),
      { numRuns: 1000 },
    );
  });

  test('are missing only for a caller with the pattern *', () => {
    for (const patterns of [['*'], ['mail', '*']]) {
      expect(callerFor(patterns).everywhere).toBe(true);
      expect(callerFor(patterns).visible).toBeUndefined();
    }
    for (const patterns of [[], ['**'], ['a*', 'b*'], ['.*'], ['%'], ['']]) {
      expect(callerFor(patterns).everywhere).toBe(false);
      expect(callerFor(patterns).visible).toHaveLength(patterns.length);
    }
  });
});

describe('a scope', () => {
  test('allows nothing but itself', () => {
    for (const scope of ['produce', 'consume', 'read'] as const)
      expect(SCOPES.filter((other) => callerFor(['*'], [scope]).may(other))).toEqual([scope]);
    expect(SCOPES.filter((other) => callerFor(['*']).may(other))).toEqual([]);
  });

  test('admin includes the others', () => {
    expect(SCOPES.filter((other) => callerFor(['*'], ['admin']).may(other))).toEqual([...SCOPES]);
  });
});

test('where nobody needs a key, anybody may do everything, and has no id', () => {
  expect(ANYBODY).toMatchObject({ id: undefined, name: 'anybody', everywhere: true, visible: undefined });
  expect(SCOPES.every((scope) => ANYBODY.may(scope))).toBe(true);
});
