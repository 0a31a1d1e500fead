import type { ErrorObject } from 'ajv';
import { QUEUE_PATTERN } from '../../../src/caller.ts';
import { DATABASE_NAME } from '../../../src/verbs/databases.ts';
import { KEY_NAME } from '../../../src/verbs/keys.ts';
import { QUEUE_NAME } from '../../../src/verbs/queues.ts';
import { NO_NUL } from '../../schemas/common.ts';

type Rule = Pick<ErrorObject, 'keyword' | 'params' | 'message'>;

/** What a text must be that has to match a pattern. */
const PATTERNS: Record<string, string> = {
  [NO_NUL]: 'must not contain NUL',
  [QUEUE_NAME]: 'must be 1 to 128 of the characters A-Z a-z 0-9 . _ : -',
  [QUEUE_PATTERN.source]: 'must be the name of a queue (mail), the beginning of names (mail.*), or *',
  [KEY_NAME]: 'must be 1 to 128 printable characters of ASCII, with no space at either end',
  [DATABASE_NAME]: 'must be 1 to 32 of the characters a-z 0-9 _',
};

const TYPES: Record<string, string> = {
  string: 'a string',
  integer: 'an integer',
  number: 'a number',
  boolean: 'true or false',
  object: 'an object',
  array: 'an array',
};

const counted = (n: number, noun: string) => `${n} ${noun}${n === 1 ? '' : 's'}`;

const WORDS: Record<string, (params: Rule['params']) => string | undefined> = {
  required: () => 'is required',
  additionalProperties: () => 'is not a known field',
  enum: ({ allowedValues }) => `must be one of ${allowedValues.join(', ')}`,
  format: () => 'must be an RFC 3339 time with an offset, like 2026-11-21T09:30:00Z',
  pattern: ({ pattern }) => PATTERNS[pattern],
  type: ({ type }) =>
    `must be ${[type]
      .flat()
      .map((one: string) => TYPES[one] ?? one)
      .join(' or ')}`,
  minimum: ({ limit }) => `must be at least ${limit}`,
  maximum: ({ limit }) => `must be at most ${limit}`,
  exclusiveMinimum: ({ limit }) => `must be more than ${limit}`,
  minLength: ({ limit }) => (limit === 1 ? 'must not be empty' : `must have at least ${limit} characters`),
  maxLength: ({ limit }) => `must have at most ${counted(limit, 'character')}`,
  minItems: ({ limit }) => `must have at least ${counted(limit, 'item')}`,
  maxItems: ({ limit }) => `must have at most ${counted(limit, 'item')}`,
  uniqueItems: () => 'must not have the same item twice',
  minProperties: ({ limit }) => `must have at least ${counted(limit, 'field')}`,
  maxProperties: ({ limit }) => `must have at most ${counted(limit, 'member')}`,
};

/** What is wrong with a field that breaks a rule of its schema, in words for people. */
export const ruleInWords = ({ keyword, params, message = 'is not valid' }: Rule): string =>
  WORDS[keyword]?.(params) ?? message;
