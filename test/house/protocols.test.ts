import { readdirSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { ROOT, sources, textOf } from '../support/sources.ts';

/*
 * A second protocol brings its own words for requests, refusals and answers. So nothing below routes/ may write those of HTTP,
 * in its code or in its comments.
 */

const PART = /\bin: '(body|query|path|header)'/;
const STATUS =
  /\bstatus(es)?\b\W{0,12}[1-5]\d\d\b|:statuses\b|\bstatuses:|\bstatus: number\b|\b(a|an|answer(s|ed)?|is|become|becomes|with) [45]\d\d\b(?! m?s\b)/;
const HEADER =
  /\blocations?\b|\b(content-type|retry-after|x-request-id|www-authenticate|(idempotency|idempotent|preference)-\w+)\b|\bauthorization\b|\bbearer\b|\?\w+=true\b/i;
const ROUTE = /\b(GET|POST|PUT|PATCH|DELETE) \/|\bHTTP\b/;

/** Written migrations stay. What they amount to is in schema.sql. */
const statements = readdirSync(`${ROOT}sql`, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.sql') && !/^(schema\.sql|migrations)/.test(file))
  .map((file) => `sql/${file}`);

const below = [...sources().filter((file) => file.startsWith('src/')), ...statements];

const writing = (pattern: RegExp) =>
  below.filter((file) => !isForPeople(file) && pattern.test(textOf(file))).sort();

/** Records of a Dibs before migration 0027 are answers of HTTP. A later migration drops their columns. */
const OLDER = ['sql/enqueue/idempotency_find.sql', 'sql/enqueue/idempotency_keep.sql'];

/** The doctor speaks to people. They see statuses in their proxies, and ask by routes. */
const isForPeople = (file: string) => file.startsWith('src/doctor/');

describe('nothing of HTTP is below routes/, in code and comments', () => {
  test('the patterns find what they are for', () => {
    for (const text of ["in: 'query'", "{ in: 'body', path }"]) expect(text).toMatch(PART);
    for (const text of ['status: 201', 'status === 503', 'status: number', 'it is answered 503'])
      expect(text).toMatch(STATUS);
    for (const text of ['as GET /queues does', 'over HTTP']) expect(text).toMatch(ROUTE);
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

  test('no route, and no word of HTTP itself', () => {
    expect(writing(ROUTE)).toEqual([]);
  });

  test('each exception is still one', () => {
    const found = [...writing(STATUS), ...writing(HEADER)];
    expect(OLDER.filter((file) => !found.includes(file))).toEqual([]);
  });
});
