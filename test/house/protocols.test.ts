import { readdirSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { codeOf, ROOT, sources, textOf } from '../support/sources.ts';

/*
 * A second protocol brings its own words for refusals and answers. So nothing below routes/ may write those of HTTP.
 */

const PART = /\bin: '(body|query|path|header)'/;
const STATUS = /\bstatus(es)?\b\W{0,12}[1-5]\d\d\b|:statuses\b|\bstatuses:|\bstatus: number\b/;
const HEADER =
  /\blocations?\b|\b(content-type|retry-after|x-request-id|www-authenticate|(idempotency|idempotent|preference)-\w+)\b|\bauthorization: bearer\b|\?\w+=true\b/i;

/** Written migrations stay. What they amount to is in schema.sql. */
const statements = readdirSync(`${ROOT}sql`, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.sql') && !/^(schema\.sql|migrations)/.test(file))
  .map((file) => `sql/${file}`);

const below = [...sources().filter((file) => file.startsWith('src/')), ...statements];

const codeBelow = (file: string) =>
  file.endsWith('.sql') ? textOf(file).replaceAll(/--.*$/gm, '') : codeOf(file);

const writing = (pattern: RegExp) => below.filter((file) => pattern.test(codeBelow(file))).sort();

/** Records of a Dibs before migration 0027 are answers of HTTP. A later migration drops their columns. */
const OLDER = ['sql/enqueue/idempotency_find.sql', 'sql/enqueue/idempotency_keep.sql'];

describe('nothing of HTTP is below routes/', () => {
  test('the patterns find what they are for', () => {
    for (const text of ["in: 'query'", "{ in: 'body', path }"]) expect(text).toMatch(PART);
    for (const text of ['status: 201', 'status === 503', 'status: number']) expect(text).toMatch(STATUS);
    for (const text of [
      "reply.header('location'",
      'retry-after',
      'Authorization: Bearer <key>',
      '?force=true',
    ])
      expect(text).toMatch(HEADER);
  });

  test('no part of a request, such as the body or the query', () => {
    expect(writing(PART)).toEqual([]);
  });

  test('no status', () => {
    // It fetches the keys of an issuer, as a client.
    expect(writing(STATUS).filter((file) => !OLDER.includes(file))).toEqual(['src/access/keySet.ts']);
  });

  test('no header, and no query string', () => {
    // A refusal names the Idempotency-Key as everybody calls it.
    expect(writing(HEADER).filter((file) => !OLDER.includes(file))).toEqual(['src/errors.ts']);
  });

  test('each exception is still one', () => {
    const found = [...writing(STATUS), ...writing(HEADER)];
    expect(OLDER.filter((file) => !found.includes(file))).toEqual([]);
  });
});
